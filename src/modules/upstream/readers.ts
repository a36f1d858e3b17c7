import type { Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import type { Balancing } from '../../upstream/index.ts';

const NO_ARGUMENTS = { syntax: '', min: 0, max: 0 };

/** `least_conn`, `ip_hash`. */
export function method(kind: 'least_conn' | 'ip_hash'): ArgReader<Balancing> {
  return readers.words(NO_ARGUMENTS, () => ({ kind }));
}

/** `hash key [consistent]`. */
export const hash: ArgReader<Balancing> = readers.words(
  { syntax: 'key [consistent]', min: 1, max: 2 },
  ([key, consistent], scope) => {
    if (consistent && consistent.value !== 'consistent') return refuse(consistent, scope);
    return { kind: 'hash', key: scope.complexValue(key as Word), consistent: consistent !== undefined };
  },
);

/** `random [two [least_conn]]`. */
export const random: ArgReader<Balancing> = readers.words(
  { syntax: '[two [least_conn]]', min: 0, max: 2 },
  ([two, way], scope) => {
    if (two && two.value !== 'two') return refuse(two, scope);
    if (way && way.value !== 'least_conn') return refuse(way, scope);
    return { kind: 'random', two: two !== undefined };
  },
);

/** `keepalive connections [local]`. */
export const keepalive: ArgReader<number> = readers.words(
  { syntax: 'connections [local]', min: 1, max: 2 },
  ([connections, local], scope) => {
    const { value, span } = connections as Word;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (number === 0) scope.report.emerg(`invalid value "${value}" in "keepalive" directive`, span);
    if (local && local.value !== 'local') return refuse(local, scope);
    return number === 0 ? undefined : number;
  },
);

/** nginx keeps peers in pages of memory, and needs eight of them. */
const MIN_ZONE_BYTES = 8 * 4096;

/** `zone name [size]`: checked as nginx does, and of no effect. */
export const zone: ArgReader<string> = readers.words(
  { syntax: 'name [size]', min: 1, max: 2 },
  ([name, size], { report }) => {
    const { value, span } = name as Word;
    const bytes = size && readers.parseSize(size.value);
    if (value === '') report.emerg(`invalid zone name "${value}"`, span);
    else if (size && bytes === undefined) report.emerg(`invalid zone size "${size.value}"`, size.span);
    else if (bytes !== undefined && bytes < MIN_ZONE_BYTES)
      report.emerg(`zone "${value}" is too small`, span);
    else return value;
    return undefined;
  },
);

function refuse(word: Word, { report }: ReadScope): undefined {
  report.emerg(`invalid parameter "${word.value}"`, word.span);
  return undefined;
}
