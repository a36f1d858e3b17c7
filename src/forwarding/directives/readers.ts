import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, type ComplexValue, constantText, readers } from '../../config/index.ts';
import type { Buffers } from '../config.ts';
import { readLocalAddress } from '../connections.ts';

/** Reads `number size`; the number is at least two. */
export const buffers: ArgReader<Buffers> = readers.words(
  { syntax: 'number size', min: 2, max: 2 },
  (words, scope) => {
    const [count, sizeWord] = words as [Word, Word];
    const number = readers.integer({ min: 1, max: 65_536 }).read([count], scope);
    const sizeBytes = readers.size.read([sizeWord], scope);
    return number === undefined || sizeBytes === undefined ? undefined : { number, sizeBytes };
  },
);

/** Reads `off`, or a value with variables (`proxy_bind address`). */
export const localAddress: ArgReader<ComplexValue | 'off'> = readers.words(
  { syntax: 'address | off', min: 1, max: 2 },
  (words, scope) => {
    const [address, transparent] = words as [Word, Word?];
    if (transparent && transparent.value !== 'transparent') {
      scope.report.emerg(`invalid parameter "${transparent.value}"`, transparent.span);
      return undefined;
    }
    if (transparent) {
      // An upstream that identifies clients by address would attribute every request to gw.
      const hint = 'gw does not change routes: tell the upstream the address in a header';
      scope.report.emerg('"transparent" is not supported', transparent.span, {
        rule: 'unsupported-module',
        hint,
      });
      return undefined;
    }
    if (address.value === 'off') return 'off';
    const value = scope.complexValue(address);
    const fixed = constantText(value);
    if (fixed === undefined || readLocalAddress(fixed)) return value;
    const hint = 'expected an IP address, with or without a port';
    scope.report.emerg(`invalid address "${fixed}"`, address.span, hint);
    return undefined;
  },
);
