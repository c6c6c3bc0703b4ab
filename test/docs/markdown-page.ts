import { readFileSync } from 'node:fs';
import { anchor } from '../../docs/generate/markdown.ts';

/** A part of a page, with the number of its line. */
export interface Located {
  line: number;
  text: string;
}

const FENCE = /^\s*(```|~~~)/;
const COMMENT = /<!--[\s\S]*?-->/g;
const INLINE_CODE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/g;
const LINK = /!?\[((?:[^[\]]|\[[^\]]*\])*)\]\(<?([^()\s>]+)>?(?:\s+"[^"]*")?\)/g;
const REFERENCE = /^\s*\[[^\]]+\]:\s+(\S+)/;
const HTML_LINK = /<(?:a|img)\s[^>]*(?:href|src)="([^"]+)"/g;
const HTML_ANCHOR = /<a\s[^>]*(?:id|name)="([^"]+)"/g;

/** The lines of a page; those of code blocks and comments are empty. */
export const readProse = (file: string): string[] => {
  const text = readFileSync(file, 'utf8').replaceAll(COMMENT, (comment) => comment.replaceAll(/[^\n]/g, ''));
  let isCode = false;
  return text.split('\n').map((line) => {
    if (!FENCE.test(line)) return isCode ? '' : line;
    isCode = !isCode;
    return '';
  });
};

/** Paragraphs, list items, headings and table cells: a sentence never goes beyond one of them. */
const listBlocks = (lines: string[]): Located[] => {
  const blocks: Located[] = [];
  let isOpen = false;
  for (const [at, line] of lines.entries()) {
    const text = line.replace(/^[\s>]*/, '');
    if (text.startsWith('|')) {
      blocks.push(...text.split(/(?<!\\)\|/).map((cell) => ({ line: at + 1, text: cell })));
      isOpen = false;
    } else if (isOpen && text !== '' && !/^([-*+]|\d+[.)]|#+)\s/.test(text)) {
      const block = blocks.at(-1);
      if (block) block.text += `\n${text}`;
    } else {
      blocks.push({ line: at + 1, text: text.replace(/^([-*+]|\d+[.)]|#+)\s+/, '') });
      isOpen = text !== '' && !text.startsWith('#');
    }
  }
  return blocks.filter(({ text }) => text.trim() !== '');
};

const HARD_SPACE = '\u00a0';

/** `e.g.` and the like end no sentence. */
const ABBREVIATION = /(^|[^\w])(e\.g|i\.e|etc|vs|cf|no)\.$/i;
const isEnd = (word: string): boolean => /[.!?]["')\]*_]*$/.test(word) && !ABBREVIATION.test(word);

export interface Sentence extends Located {
  words: number;
}

/** Inline code counts as one word, a link as its text. */
export const listSentences = (lines: string[]): Sentence[] =>
  listBlocks(lines).flatMap(({ line, text }) => {
    const plain = text
      .replaceAll(INLINE_CODE, (code) => code.replaceAll(/[^\S\n]/g, HARD_SPACE))
      .replaceAll(LINK, '$1');
    const sentences: { line: number; words: string[] }[] = [];
    let isBetween = true;
    for (const [at, row] of plain.split('\n').entries()) {
      for (const word of row.split(/[ \t]+/).filter((one) => /[\p{L}\p{N}]/u.test(one))) {
        if (isBetween) sentences.push({ line: line + at, words: [] });
        sentences.at(-1)?.words.push(word);
        isBetween = isEnd(word);
      }
    }
    return sentences.map((one) => ({
      line: one.line,
      text: one.words.join(' ').replaceAll(HARD_SPACE, ' '),
      words: one.words.length,
    }));
  });

export const listInlineCode = (lines: string[]): Located[] =>
  locate(lines.join('\n'), INLINE_CODE, (match) => match[2] ?? '');

export const listLinks = (lines: string[]): Located[] => {
  const text = lines.join('\n');
  const bare = text.replaceAll(INLINE_CODE, (code) => code.replaceAll(/[^\n]/g, 'x'));
  return [
    ...locate(bare, LINK, (match) => match[2] ?? ''),
    ...locate(bare, HTML_LINK, (match) => match[1] ?? ''),
    ...locate(bare, new RegExp(REFERENCE, 'gm'), (match) => match[1] ?? ''),
  ];
};

const locate = (text: string, pattern: RegExp, pick: (match: RegExpExecArray) => string): Located[] =>
  [...text.matchAll(pattern)].map((match) => ({
    line: text.slice(0, match.index).split('\n').length,
    text: pick(match),
  }));

/** As GitHub makes them: of two equal headings the second has `-1`. */
export const listAnchors = (lines: string[]): Set<string> => {
  const counts = new Map<string, number>();
  const headings = lines
    .filter((line) => /^#{1,6}\s/.test(line))
    .map((line) => {
      const slug = anchor(
        line
          .replace(/^#+\s+/, '')
          .replaceAll(LINK, '$1')
          .trim(),
      );
      const count = counts.get(slug) ?? 0;
      counts.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    });
  return new Set([
    ...headings,
    ...locate(lines.join('\n'), HTML_ANCHOR, (match) => match[1] ?? '').map(({ text }) => text),
  ]);
};
