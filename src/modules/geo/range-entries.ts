import type { Report, Word } from '../../../grammar/index.ts';
import type { Entries } from './entries.ts';
import { ipv4Number } from './ipv4-number.ts';
import { Ranges } from './ranges.ts';
import type { Range } from './ranges.ts';
import type { Values } from './values.ts';

/** Entries by range, IPv4 only. */
export class RangeEntries implements Entries {
  readonly #values: Values;
  readonly #report: Report;
  readonly #ranges = new Ranges();
  #default: number | undefined = undefined;

  constructor(values: Values, report: Report) {
    this.#values = values;
    this.#report = report;
  }

  setDefault({ span }: Word, { value: text }: Word): void {
    if (this.#default !== undefined) {
      const old = this.#values.all[this.#default];
      this.#report.warn(`duplicate default geo range value: "${text}", old value: "${old}"`, span, {
        rule: 'duplicate-directive',
      });
    }
    this.#default = this.#values.indexOf(text);
  }

  set(name: Word, { value: text }: Word): void {
    const range = this.#read(name);
    if (!range) return;
    for (const { kind, old } of this.#ranges.add({ ...range, value: this.#values.indexOf(text) })) {
      if (kind === 'across') {
        const other = `${dotted(old.start)}-${dotted(old.end)}`;
        this.#report.emerg(`range "${name.value}" overlaps "${other}"`, name.span);
      } else {
        const values = `value: "${text}", old value: "${this.#values.all[old.value]}"`;
        this.#report.warn(`duplicate range "${name.value}", ${values}`, name.span, {
          rule: 'duplicate-directive',
        });
      }
    }
  }

  delete(name: Word): void {
    const range = this.#read(name);
    if (range && !this.#ranges.delete(range))
      this.#report.warn(`no address range "${name.value}" to delete`, name.span);
  }

  /** An IPv6 address is in no range. */
  boundaries(): ReturnType<Entries['boundaries']> {
    const value = this.#default ?? -1;
    return { v4: this.#ranges.boundaries(value), v6: [{ start: 0n, value }] };
  }

  #read({ value, span }: Word): Omit<Range, 'value'> | undefined {
    const [start, end, ...more] = value.split('-').map(number);
    if (start !== undefined && end !== undefined && start <= end && more.length === 0) return { start, end };
    this.#report.emerg(`invalid range "${value}"`, span, 'expected two addresses such as 10.0.0.1-10.0.0.9');
    return undefined;
  }
}

/** 255.255.255.255 is no address here: nginx keeps it for clients that have none. */
function number(address: string): number | undefined {
  const read = ipv4Number(address);
  return read === 0xffff_ffff ? undefined : read;
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
}
