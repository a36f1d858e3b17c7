import type { AnyModule, Credentials } from '../../contract/index.ts';
import { isSecretName, MASK, redact } from '../../log/index.ts';
import type { GatewayPlan, LocationPlan } from '../../plan/index.ts';
import type { ReadQuery } from './query.ts';

/** Shorter values are masked where they are named, and not everywhere: they are parts of other texts. */
const LEAST_LENGTH = 8;

/** An argument, and what is before it. */
const ARGUMENT = /(^|[?&])([^?&=#]+)=([^&#]*)/g;

/** Masks the credentials of a request: they are not to be in the output of a command. */
export class Veil {
  /** The values of the request to be masked in all texts. */
  readonly values: readonly string[];
  readonly #headers: ReadonlySet<string>;
  readonly #arguments: ReadonlySet<string>;

  constructor(
    { plan, modules }: { readonly plan: GatewayPlan; readonly modules: readonly AnyModule[] },
    { args, headers }: Pick<ReadQuery, 'args' | 'headers'>,
  ) {
    const all = [...credentialsIn(plan, modules)];
    const own = new Set(all.flatMap((each) => each.headers ?? []));
    this.#headers = own;
    this.#arguments = new Set(all.flatMap((each) => each.arguments ?? []).map((name) => name.toLowerCase()));
    const inArgs = [...args.matchAll(ARGUMENT)].flatMap(([, , name = '', value = '']) =>
      this.#isSecret(name) ? [value, decoded(value)] : [],
    );
    const inHeaders = headers.filter((_, index) => own.has(headers[index - 1] ?? ''));
    this.values = [...inArgs, ...inHeaders].filter((value) => value.length >= LEAST_LENGTH);
  }

  /** A URL, or a query. */
  url(text: string): string {
    return text.replaceAll(ARGUMENT, (whole, before: string, name: string) =>
      this.#isSecret(name) ? `${before}${name}=${MASK}` : whole,
    );
  }

  header([name, value]: readonly [string, string]): readonly [string, string] {
    if (!this.#headers.has(name.toLowerCase()) && !isSecretName(name)) return [name, redact(value)];
    const [, scheme] = /^(\w+) +\S/.exec(value) ?? [];
    return [name, scheme === undefined ? MASK : `${scheme} ${MASK}`];
  }

  #isSecret(written: string): boolean {
    const name = decoded(written);
    return this.#arguments.has(name.toLowerCase()) || isSecretName(name);
  }
}

function* credentialsIn(plan: GatewayPlan, modules: readonly AnyModule[]): Iterable<Credentials> {
  const telling = modules.flatMap(({ name, credentials }) => (credentials ? [{ name, credentials }] : []));
  const levels = plan.servers.flatMap(({ root, named }) => [root, ...named].flatMap(plansIn));
  for (const level of levels) {
    for (const { name, credentials } of telling) {
      const config = level.modules[name];
      if (config) yield credentials(config);
    }
  }
}

function plansIn(plan: LocationPlan): readonly LocationPlan[] {
  const inner = [...plan.locations, ...(plan.blocks ?? []).map(({ plan: block }) => block)];
  return [plan, ...inner.flatMap(plansIn)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
