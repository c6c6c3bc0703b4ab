/** A moment as JSON tells it. */
export function iso(at: number): string;
export function iso(at: number | undefined): string | undefined;
export function iso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}
