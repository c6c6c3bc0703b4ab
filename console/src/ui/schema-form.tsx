import { type Signal, useComputed, useSignal } from '@preact/signals';
import type { JsonSchema } from '../api/types.ts';

interface FormProps {
  schema: JsonSchema | undefined;
  value: Signal<unknown>;
  /** What is wrong with it, if it is. */
  problem: Signal<string | undefined>;
}

const typeOf = ({ type }: JsonSchema): string | undefined =>
  Array.isArray(type) ? type.find((one) => one !== 'null') : type;

const isSimple = (schema: JsonSchema): boolean =>
  schema.enum !== undefined || ['string', 'number', 'integer', 'boolean'].includes(typeOf(schema) ?? '');

/** A value to begin with. */
export const toInitial = (schema: JsonSchema | undefined): unknown => {
  if (!schema) return undefined;
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (typeOf(schema) === 'object' || schema.properties) {
    const entries = Object.entries(schema.properties ?? {}).map(([name, part]) => [name, toInitial(part)]);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
  return typeOf(schema) === 'boolean' ? false : undefined;
};

/** A form made from a JSON Schema, as far as it is plain; JSON for the rest. */
export const SchemaForm = ({ schema, value, problem }: FormProps) => {
  if (schema && isSimple(schema)) {
    return (
      <Field
        name={schema.title ?? 'Answer'}
        schema={schema}
        isRequired
        value={value.value}
        onChange={(next) => (value.value = next)}
      />
    );
  }
  if (schema?.properties) return <ObjectFields schema={schema} value={value} problem={problem} />;
  return <JsonField label="Text or JSON" value={value} problem={problem} />;
};

const ObjectFields = ({ schema, value, problem }: FormProps & { schema: JsonSchema }) => {
  const all = useComputed(() => (value.value ?? {}) as Record<string, unknown>);
  const set = (name: string, next: unknown): void => {
    const { [name]: _old, ...others } = all.value;
    value.value = next === undefined ? others : { ...others, [name]: next };
  };
  return (
    <div class="schema-fields">
      {Object.entries(schema.properties ?? {}).map(([name, part]) => {
        const isRequired = schema.required?.includes(name) ?? false;
        return isSimple(part) ? (
          <Field
            key={name}
            name={part.title ?? name}
            schema={part}
            isRequired={isRequired}
            value={all.value[name]}
            onChange={(next) => set(name, next)}
          />
        ) : (
          <JsonPart
            key={name}
            name={name}
            schema={part}
            value={all.value[name]}
            onChange={(next) => set(name, next)}
            problem={problem}
          />
        );
      })}
    </div>
  );
};

interface FieldProps {
  name: string;
  schema: JsonSchema;
  isRequired: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

const Field = ({ name, schema, isRequired, value, onChange }: FieldProps) => {
  const type = typeOf(schema);
  const note = schema.description && <span class="hint">{schema.description}</span>;
  if (type === 'boolean') {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
        {name} {note}
      </label>
    );
  }
  const label = (
    <span>
      {name} {!isRequired && <span class="muted">optional</span>}
    </span>
  );
  if (schema.enum) {
    return (
      <label>
        {label}
        <select
          required={isRequired}
          value={value === undefined ? '' : String(schema.enum.indexOf(value))}
          onChange={(event) =>
            onChange(event.currentTarget.value === '' ? undefined : schema.enum?.[Number(event.currentTarget.value)])
          }
        >
          <option value="">Choose…</option>
          {schema.enum.map((one, index) => (
            <option key={String(one)} value={String(index)}>
              {String(one)}
            </option>
          ))}
        </select>
        {note}
      </label>
    );
  }
  const isNumber = type === 'number' || type === 'integer';
  const isLong = !isNumber && (schema.maxLength ?? 1000) > 200 && /text|content|body|prompt|message/i.test(name);
  const onText = (text: string): void => onChange(text === '' ? undefined : isNumber ? Number(text) : text);
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: one of three is inside
    <label>
      {label}
      {isLong ? (
        <textarea
          rows={4}
          required={isRequired}
          value={String(value ?? '')}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      ) : isNumber ? (
        <input
          type="number"
          step={type === 'integer' ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
          required={isRequired}
          value={value === undefined ? '' : String(value)}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      ) : (
        <input
          required={isRequired}
          value={String(value ?? '')}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
      {note}
    </label>
  );
};

interface JsonPartProps {
  name: string;
  schema: JsonSchema;
  value: unknown;
  onChange: (value: unknown) => void;
  problem: Signal<string | undefined>;
}

const JsonPart = ({ name, schema, value, onChange, problem }: JsonPartProps) => {
  const text = useSignal(value === undefined ? '' : JSON.stringify(value));
  const onInput = (typed: string): void => {
    text.value = typed;
    try {
      onChange(typed.trim() === '' ? undefined : JSON.parse(typed));
      problem.value = undefined;
    } catch {
      problem.value = `${name} is not JSON yet.`;
    }
  };
  return (
    <label>
      <span>
        {name} <span class="muted">JSON</span>
      </span>
      <textarea
        rows={3}
        class="mono"
        spellcheck={false}
        value={text.value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {schema.description && <span class="hint">{schema.description}</span>}
    </label>
  );
};

/** What is not JSON is text. */
const JsonField = ({
  label,
  value,
  problem,
}: {
  label: string;
  value: Signal<unknown>;
  problem: Signal<string | undefined>;
}) => {
  const text = useSignal(value.value === undefined ? '' : JSON.stringify(value.value, undefined, 2));
  const onInput = (typed: string): void => {
    text.value = typed;
    problem.value = undefined;
    try {
      value.value = JSON.parse(typed);
    } catch {
      if (/^\s*[[{]/.test(typed)) problem.value = 'This is not JSON yet.';
      else value.value = typed === '' ? undefined : typed;
    }
  };
  return (
    <label>
      {label}
      <textarea
        rows={6}
        class="mono"
        spellcheck={false}
        value={text.value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
};
