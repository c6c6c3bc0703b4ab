import type { ComponentChildren } from 'preact';
import type { Tone } from '../../model/task-state.ts';

interface TileProps {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  tone?: Tone;
  to?: string;
}

export const Tile = ({ label, value, note, tone = 'idle', to }: TileProps) => {
  const content = (
    <>
      <span class="tile-label">{label}</span>
      <span class="tile-value num">{value}</span>
      <span class="tile-note">{note}</span>
    </>
  );
  return to === undefined ? (
    <div class={`tile ${tone}`}>{content}</div>
  ) : (
    <a class={`tile ${tone}`} href={to}>
      {content}
    </a>
  );
};
