import type { ClusterPlan } from '../../cluster/index.ts';
import type { BlockView, Context } from '../../config/index.ts';
import type { AnyModule, CheckedConfig, LiveProblem, LiveScope } from '../../contract/index.ts';
import type { Catalogue } from './catalogue.ts';
import type { ConfigOfModules } from './exposure.ts';
import type { Finding } from './finding.ts';
import { findingFor } from './review.ts';

/** Longest time for one database or store. */
const TIMEOUT_MS = 5_000;

/** The contexts whose directives may name a database, a store or a log, whether or not a location inherits them. */
const ASKED: readonly Context[] = [
  'main',
  'http',
  'cluster',
  'server',
  'location',
  'location if',
  'limit_except',
];

/** The findings of the databases and stores of a configuration. All are asked at once, each target once. */
export async function liveFindings(
  config: ConfigOfModules,
  { catalogue, clusters }: { readonly catalogue: Catalogue; readonly clusters: readonly ClusterPlan[] },
): Promise<readonly Finding[]> {
  const answers = new LiveAnswers();
  const shared = liveScope(config, answers);
  const seen = new Set<object>();
  const asked: Promise<readonly Finding[]>[] = [];
  for (const block of config.blocks(...ASKED)) {
    const cluster = clusters.find(({ name }) => block.context === 'cluster' && block.args === name);
    const scope: LiveScope = { ...shared, cluster };
    for (const module of config.modules) {
      if (!module.probe) continue;
      const values = block.config(module.name);
      // Blocks without directives of a module share its inherited config.
      if (seen.has(values) || module.enabled?.(values) === false) continue;
      seen.add(values);
      const asking = module.probe(values, scope);
      asked.push(asking.then((problems) => findingsAt(block, module, { problems, catalogue })));
    }
  }
  try {
    return (await Promise.all(asked)).flat();
  } finally {
    await answers.close();
  }
}

/** The answers to the questions of a check, and what has to be closed after it. */
class LiveAnswers {
  readonly #answers = new Map<string, Promise<unknown>>();
  readonly #closings: (() => Promise<void>)[] = [];

  once<T>(key: string, ask: () => Promise<T>, close?: (answer: T) => Promise<void>): Promise<T> {
    const known = this.#answers.get(key) as Promise<T> | undefined;
    if (known) return known;
    const answer = ask();
    this.#answers.set(key, answer);
    // A query that failed has nothing to close, and its caller gets the fault.
    if (close) this.#closings.push(() => answer.then(close, () => undefined));
    return answer;
  }

  async close(): Promise<void> {
    await Promise.all(this.#closings.map((close) => close()));
  }
}

interface LiveAnswer {
  readonly problems: readonly LiveProblem<object>[];
  readonly catalogue: Catalogue;
}

function findingsAt(
  block: BlockView,
  { name, content }: AnyModule,
  { problems, catalogue }: LiveAnswer,
): readonly Finding[] {
  const from = block.from(name);
  return problems.flatMap(({ rule, field, index = 0, ...problem }) => {
    // A default has no place; the finding is then at the directive that enables the module.
    const at = [field, content]
      .flat()
      .flatMap((one = '') => from.get(one)?.nodes ?? [])
      .at(index);
    return at ? findingFor(catalogue.known(rule), { ...problem, at }) : [];
  });
}

function liveScope(config: CheckedConfig, answers: LiveAnswers): Omit<LiveScope, 'cluster'> {
  return {
    timeoutMs: TIMEOUT_MS,
    once: (key, ask, close) => answers.once(key, ask, close),
    upstream: (name) =>
      config
        .upstream(name)
        ?.own('server')
        .flatMap(({ args }) => args[0]?.value ?? []),
  };
}
