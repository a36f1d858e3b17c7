import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import { readers } from '../../config/index.ts';
import type { Network, ReadScope } from '../../config/index.ts';
import type { GeoConfig, Intervals } from './config.ts';
import type { Entries } from './entries.ts';
import type { Boundary } from './intervals.ts';
import { NetworkEntries, readNetwork } from './network-entries.ts';
import { RangeEntries } from './range-entries.ts';
import { Values } from './values.ts';

/** The block `geo [$address] $variable { ... }` (nginx ngx_http_geo_module#geo). */
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

  /** A line of one word; false: it is none of those that there are. */
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
