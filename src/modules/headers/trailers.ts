import type { Build } from '../../contract/index.ts';
import { isSafeHeaderValue } from '../../http/index.ts';
import type { Exchange, HeaderFilter } from '../../http/index.ts';
import { isGood } from './added.ts';
import type { AddedHeader } from './added.ts';

/** Lets an answer end in trailers; their values are those at its end. One that reads a trailer finds those before it (nginx). */
export function compileTrailers(trailers: readonly AddedHeader[], build: Build): HeaderFilter | undefined {
  if (trailers.length === 0) return undefined;
  const compiled = trailers.map(({ name, value, always }) => ({ name, always, render: build.value(value) }));
  return (x) => {
    const wanted = isGood(x) ? compiled : compiled.filter(({ always }) => always);
    if (wanted.length === 0) return;
    const evaluate = (): readonly string[] => {
      const fields: string[] = [];
      x.trailers = () => fields;
      try {
        for (const { name, render } of wanted) {
          const value = render(x);
          if (value !== '' && isSafeHeaderValue(value)) fields.push(name, value);
        }
      } finally {
        x.trailers = evaluate;
      }
      return fields;
    };
    x.trailers = evaluate;
  };
}

/** The value of a trailer by its name in lower case. */
export function findTrailer(x: Exchange, name: string): string | undefined {
  const fields = x.trailers?.() ?? [];
  const at = fields.findIndex((field, index) => index % 2 === 0 && field.toLowerCase() === name);
  return at < 0 ? undefined : fields[at + 1];
}
