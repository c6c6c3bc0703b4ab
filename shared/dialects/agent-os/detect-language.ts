import { isObject } from '../../kernel/json/json.ts';

/** An output has up to 2 MB. */
const MAX_TEXTS = 64;
const MAX_TEXT_LENGTH = 200;

/** In which of the two languages of AgentOS most letters of the first texts are. Other dialects do not say. */
export const detectLanguage = (content: unknown): 'ar' | 'en' | undefined => {
  let letters = 0;
  let arabic = 0;
  const rest = [content];
  for (let looked = 0; looked < MAX_TEXTS && rest.length > 0; looked++) {
    const value = rest.shift();
    if (typeof value === 'string') {
      const text = value.slice(0, MAX_TEXT_LENGTH);
      letters += text.match(/\p{L}/gu)?.length ?? 0;
      arabic += text.match(/\p{Script=Arabic}/gu)?.length ?? 0;
    } else if (Array.isArray(value)) rest.push(...value.slice(0, MAX_TEXTS));
    else if (isObject(value)) rest.push(...Object.values(value).slice(0, MAX_TEXTS));
  }
  if (letters === 0) return undefined;
  return arabic * 2 > letters ? 'ar' : 'en';
};
