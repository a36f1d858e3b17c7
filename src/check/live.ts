import type { BlockView } from '../config/index.ts';
import type { AnyModule, LiveProblem, LiveScope } from '../contract/index.ts';
import { findingFor } from './review.ts';
import type { CheckedConfig, Finding, Rule } from './rule.ts';
import { upstreamNamed } from './proxying.ts';
import { ruleNamed } from './rules/index.ts';

/** Long enough for another continent, short enough to wait for. */
const TIMEOUT_MS = 5_000;

/** What the databases and stores of a configuration say of it: all are asked at once, each target once. */
export async function liveFindings(config: CheckedConfig): Promise<readonly Finding[]> {
  const scope = liveScope(config);
  const seen = new Set<object>();
  const asked: Promise<readonly Finding[]>[] = [];
  for (const block of config.blocks('server', 'location', 'location if')) {
    for (const module of config.modules) {
      if (!module.probe) continue;
      const values = block.config(module.name);
      // Blocks that say nothing of a module share what it has above them.
      if (seen.has(values) || module.enabled?.(values) === false) continue;
      seen.add(values);
      asked.push(findingsAt(block, module, module.probe(values, scope)));
    }
  }
  return (await Promise.all(asked)).flat();
}

async function findingsAt(
  block: BlockView,
  { name, content }: AnyModule,
  probing: Promise<readonly LiveProblem<object>[]>,
): Promise<readonly Finding[]> {
  const from = block.from(name);
  const problems = await probing;
  return problems.flatMap(({ rule, field, ...problem }) => {
    // A default has no place: then it is the directive that makes the location what it is.
    const [at] = [field, content].flat().flatMap((one = '') => from.get(one)?.nodes ?? []);
    return at ? findingFor(ruleNamed(rule) as Rule, { ...problem, at }) : [];
  });
}

function liveScope(config: CheckedConfig): LiveScope {
  const answers = new Map<string, Promise<unknown>>();
  return {
    timeoutMs: TIMEOUT_MS,
    once<T>(key: string, ask: () => Promise<T>): Promise<T> {
      const answer = (answers.get(key) as Promise<T> | undefined) ?? ask();
      answers.set(key, answer);
      return answer;
    },
    upstream: (name) =>
      upstreamNamed(config, name)
        ?.own('server')
        .flatMap(({ args }) => args[0]?.value ?? []),
  };
}
