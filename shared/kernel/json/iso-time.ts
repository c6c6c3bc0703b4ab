export function toIso(at: number): string;
export function toIso(at: number | undefined): string | undefined;
export function toIso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}
