export const MODERN_VERSION = '2026-07-28';

/** Begun with `initialize`; served without sessions. */
export const EARLIER_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...EARLIER_VERSIONS];

/** What a client without the header speaks. */
export const HEADERLESS_VERSION = '2025-03-26';
