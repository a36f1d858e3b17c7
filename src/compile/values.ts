import type { ComplexValue } from '../config/index.ts';
import type { Exchange, Getter } from '../http/index.ts';

type Text = (x: Exchange) => string;

/** A value with variables as one closure. `getter` gives the closure of a variable by its name. */
export function compileValue({ parts }: ComplexValue, getter: (variable: string) => Getter): Text {
  const pieces = parts.map((part) => (typeof part === 'string' ? part : orEmpty(compilePart(part, getter))));
  const [first = '', second] = pieces;
  if (second === undefined) return typeof first === 'string' ? () => first : first;
  if (pieces.length === 2 && typeof first === 'string' && typeof second === 'function')
    return (x) => first + second(x);
  return (x) => {
    let text = '';
    for (const piece of pieces) text += typeof piece === 'string' ? piece : piece(x);
    return text;
  };
}

/** Like `compileValue`, but a value that is one variable alone stays `undefined` when it has none. */
export function compileOptionalValue(value: ComplexValue, getter: (variable: string) => Getter): Getter {
  const [only] = value.parts;
  if (value.parts.length !== 1 || only === undefined || typeof only === 'string')
    return compileValue(value, getter);
  return compilePart(only, getter);
}

type Part = Exclude<ComplexValue['parts'][number], string>;

function compilePart(part: Part, getter: (variable: string) => Getter): Getter {
  if ('variable' in part) return getter(part.variable);
  const { capture } = part;
  return (x) => x.captures?.[capture];
}

function orEmpty(read: Getter): Text {
  return (x) => read(x) ?? '';
}
