export const matchesGlob = (pattern: string, text: string): boolean => {
  const parts = pattern.split('*');
  const [first = ''] = parts;
  if (parts.length === 1) return pattern === text;
  const last = parts.at(-1) ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > text.length - last.length) return false;
    at = found + part.length;
  }
  return true;
};
