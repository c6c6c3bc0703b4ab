/** The JSON of a document, made and written out when it is first asked for: what anyone may ask for costs nothing each time. */
export const memoizeJson = (make: () => object | Promise<object>): (() => Promise<Uint8Array>) => {
  let made: Promise<Uint8Array> | undefined;
  return () => {
    made ??= Promise.resolve(make()).then((document) => Buffer.from(JSON.stringify(document)));
    return made;
  };
};
