/** Made when it is first asked for, and then the same for all: what anyone may ask for must not cost anything each time. */
export const once = <T extends object>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
};
