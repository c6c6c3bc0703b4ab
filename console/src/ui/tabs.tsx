interface TabsProps {
  label: string;
  options: readonly (readonly [value: string, label: string])[];
  value: string;
  onChange: (value: string) => void;
}

export const Tabs = ({ label, options, value, onChange }: TabsProps) => (
  <div class="tabs" role="group" aria-label={label}>
    {options.map(([one, name]) => (
      <button key={one} type="button" aria-pressed={value === one} onClick={() => onChange(one)}>
        {name}
      </button>
    ))}
  </div>
);
