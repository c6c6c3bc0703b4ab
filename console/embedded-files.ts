/** The files of the console by name, in base64. The bundle of a function has them here; elsewhere they are built. */
export const EMBEDDED_FILES: Readonly<Record<string, string>> = {};
