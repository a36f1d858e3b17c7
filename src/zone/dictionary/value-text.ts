import type { DictionaryValue } from './entry.ts';

/** Returns the text that stands for a value in another process: a letter for the type, and the value. */
export function valueText(value: DictionaryValue): string {
  if (typeof value === 'boolean') return value ? 'b1' : 'b0';
  if (typeof value === 'number') return `n${Object.is(value, -0) ? '-0' : value}`;
  return `s${value}`;
}

const BOOLEANS: Readonly<Record<string, boolean>> = { b0: false, b1: true };

/** Reads such a text. Returns `undefined` if it stands for no value. */
export function readValueText(text: string): DictionaryValue | undefined {
  if (text.startsWith('s')) return text.slice(1);
  // Others choose the text: what every object has, as "constructor", is no value.
  if (!text.startsWith('n')) return Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined;
  const number = Number(text.slice(1));
  return valueText(number) === text ? number : undefined;
}
