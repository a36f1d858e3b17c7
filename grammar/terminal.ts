const TAB_COLUMNS = 4;

// Controls, lone surrogates, and what reorders or hides text: bidirectional marks, zero-width characters.
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const ZERO = /\p{Mn}|\p{Me}/u;

/** Text that may go to a terminal: `\x1B` for a control byte, `\u202E` for what reorders or hides text. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0);
    const hex = code.toString(16).toUpperCase();
    return code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`;
  });
}

/** One character as it is shown at a column, and how many columns it takes there. */
export interface Cell {
  readonly shown: string;
  readonly width: number;
}

/** How a code point is shown: a tab as blanks to the next stop, an unsafe character as its code. */
export function cellOf(character: string, column: number): Cell {
  if (character === '\t') {
    const width = TAB_COLUMNS - (column % TAB_COLUMNS);
    return { shown: ' '.repeat(width), width };
  }
  if (character >= ' ' && character <= '~') return { shown: character, width: 1 };
  const shown = printable(character);
  if (shown !== character) return { shown, width: shown.length };
  return { shown, width: ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1 };
}
