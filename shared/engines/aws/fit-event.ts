import type { ParleyEvent } from '../../ports/events.ts';

/** An event bus takes 256 KB, and an item of the table 400 KB, with what surrounds the event. */
const MAX_EVENT_BYTES = 200 * 1024;

/** Without its largest fields where it would fit nowhere. `omitted` names them. */
export const fitEvent = (event: ParleyEvent): ParleyEvent => {
  let bytes = countBytes(event.data);
  if (bytes <= MAX_EVENT_BYTES) return event;
  const data = { ...event.data };
  const omitted: string[] = [];
  const sizes = Object.entries(data).map(([name, value]) => ({ name, size: countBytes(value) }));
  for (const { name, size } of sizes.toSorted((a, b) => b.size - a.size)) {
    if (bytes <= MAX_EVENT_BYTES) break;
    delete data[name];
    omitted.push(name);
    bytes -= size;
  }
  return { ...event, data: { ...data, omitted } };
};

const countBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');
