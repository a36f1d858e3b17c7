import type { DirectiveNode, Report, Word } from '../../../grammar/index.ts';
import { type Network, parseNetwork, readers, type ReadScope } from '../../config/index.ts';
import { boundariesOf, type Boundary, type Range, Ranges, type Stretch } from './intervals.ts';
import { type GeoConfig, type Intervals, ipv4Number } from './lookup.ts';

/** The distinct values of a block: many lines share few values. */
class Values {
  readonly all: string[] = [];
  readonly #indices = new Map<string, number>();

  indexOf(text: string): number {
    const known = this.#indices.get(text);
    if (known !== undefined) return known;
    const index = this.all.push(text) - 1;
    this.#indices.set(text, index);
    return index;
  }
}

/** Collects the entries of a `geo` block, networks or ranges, and reports their faults. */
interface Entries {
  setDefault(name: Word, value: Word): void;
  set(name: Word, value: Word): void;
  delete(name: Word): void;
  boundaries(): { readonly v4: readonly Boundary[]; readonly v6: readonly Boundary[] };
}

/** Reads a network and reports its faults. Warns about address bits outside of the mask, as nginx does. */
function readNetwork(word: Word, report: Report): Network | undefined {
  const { value, span } = word;
  const parsed = parseNetwork(value);
  if (!parsed) {
    report.emerg(`invalid network "${value}"`, span, 'expected an address such as 10.0.0.1 or 10.0.0.0/8');
    return undefined;
  }
  readers.warnOfHostBits(word, parsed, report);
  return parsed.network;
}

const EVERYTHING: readonly Network[] = [4, 16].map((length) => ({
  bytes: Array.from({ length }, () => 0),
  bits: 0,
}));

/** Entries by network; the smallest network that contains an address decides. */
class NetworkEntries implements Entries {
  readonly #values: Values;
  readonly #report: Report;
  readonly #v4 = new Map<string, Stretch>();
  readonly #v6 = new Map<string, Stretch>();

  constructor(values: Values, report: Report) {
    this.#values = values;
    this.#report = report;
  }

  setDefault(name: Word, value: Word): void {
    for (const network of EVERYTHING) this.#add(network, name, value);
  }

  set(name: Word, value: Word): void {
    const network = readNetwork(name, this.#report);
    if (network) this.#add(network, name, value);
  }

  delete(name: Word): void {
    const network = readNetwork(name, this.#report);
    if (!network || this.#of(network).delete(keyOf(network))) return;
    this.#report.warn(`no network "${name.value}" to delete`, name.span);
  }

  boundaries(): ReturnType<Entries['boundaries']> {
    return { v4: boundariesOf([...this.#v4.values()], 32), v6: boundariesOf([...this.#v6.values()], 128) };
  }

  /** Adds a network, or replaces the value of the same network. */
  #add(network: Network, name: Word, { value: text }: Word): void {
    const stretches = this.#of(network);
    const key = keyOf(network);
    const old = stretches.get(key);
    stretches.set(key, stretchOf(network, this.#values.indexOf(text)));
    if (!old) return;
    const values = `value: "${text}", old value: "${this.#values.all[old.value]}"`;
    this.#report.warn(`duplicate network "${name.value}", ${values}`, name.span, {
      rule: 'duplicate-directive',
    });
  }

  #of({ bytes }: Network): Map<string, Stretch> {
    return bytes.length === 4 ? this.#v4 : this.#v6;
  }
}

function keyOf({ bytes, bits }: Network): string {
  return `${bytes.join('.')}/${bits}`;
}

function stretchOf({ bytes, bits }: Network, value: number): Stretch {
  const start = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  const size = 1n << BigInt(bytes.length * 8 - bits);
  return { start, end: start + size - 1n, value };
}

/** Entries by range, IPv4 only. */
class RangeEntries implements Entries {
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

  /** Ranges are IPv4 only. */
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

/** Reads an address. 255.255.255.255 means clients without an address, as in nginx. */
function number(address: string): number | undefined {
  const read = ipv4Number(address);
  return read === 0xffff_ffff ? undefined : read;
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
}

/** Reads the block `geo [$address] $variable { ... }` (nginx ngx_http_geo_module#geo). */
export function readGeo({ args, block = [] }: DirectiveNode, scope: ReadScope): GeoConfig | undefined {
  const [first, second] = args as [Word, Word?];
  if (second && !/^\$\w+$/.test(first.value)) {
    scope.report.emerg(`invalid variable name "${first.value}"`, first.span);
    return undefined;
  }
  const variable = readers.readVariableName(second ?? first, scope);
  const reader = new GeoReader(scope);
  for (const line of block) reader.line(line);
  const address = second && scope.complexValue(first);
  return variable === undefined ? undefined : { variable, ...(address && { address }), ...reader.finish() };
}

/** Reads the lines of one block. */
class GeoReader {
  readonly #scope: ReadScope;
  readonly #values = new Values();
  readonly #proxies: Network[] = [];
  #entries: Entries | undefined = undefined;
  #proxyRecursive = false;
  #isVolatile = false;

  constructor(scope: ReadScope) {
    this.#scope = scope;
  }

  line({ name, args, block }: DirectiveNode): void {
    const { report } = this.#scope;
    const [value, ...more] = args;
    if (block) return report.emerg('unexpected "{"', name.span, { rule: 'unexpected-token' });
    if (!value && this.#flag(name)) return undefined;
    if (!value || more.length > 0) {
      const hint = 'expected a network and its value';
      return report.emerg('invalid number of the geo parameters', name.span, { rule: 'wrong-arity', hint });
    }
    return this.#entry(name, value);
  }

  finish(): Omit<GeoConfig, 'variable' | 'address'> {
    const { v4, v6 } = this.#kind().boundaries();
    return {
      isVolatile: this.#isVolatile,
      proxies: this.#proxies,
      proxyRecursive: this.#proxyRecursive,
      v4: intervalsOf(v4, Number),
      v6: intervalsOf(v6, (start) => start.toString(16).padStart(32, '0')),
      values: this.#values.all,
    };
  }

  /** Reads a line of one word; false if the parameter is unknown. */
  #flag(name: Word): boolean {
    if (name.value === 'proxy_recursive') this.#proxyRecursive = true;
    else if (name.value === 'volatile') this.#isVolatile = true;
    else if (name.value === 'ranges') this.#ranges(name);
    else return false;
    return true;
  }

  #ranges({ span }: Word): void {
    if (!this.#entries) this.#entries = new RangeEntries(this.#values, this.#scope.report);
    else if (!(this.#entries instanceof RangeEntries)) {
      const message = 'the "ranges" directive must be the first directive inside "geo" block';
      this.#scope.report.emerg(message, span);
    }
  }

  #entry(name: Word, value: Word): void {
    if (name.value === 'proxy') {
      const network = readNetwork(value, this.#scope.report);
      if (network) this.#proxies.push(network);
    } else if (name.value === 'default') this.#kind().setDefault(name, value);
    else if (name.value === 'delete') this.#kind().delete(value);
    else this.#kind().set(name, value);
  }

  #kind(): Entries {
    return (this.#entries ??= new NetworkEntries(this.#values, this.#scope.report));
  }
}

function intervalsOf<T extends number | string>(
  boundaries: readonly Boundary[],
  key: (start: bigint) => T,
): Intervals<T> {
  return {
    starts: boundaries.map(({ start }) => key(start)),
    values: boundaries.map(({ value }) => value),
  };
}
