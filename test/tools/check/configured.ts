import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from '../../../src/config/index.ts';
import type { CheckedConfig } from '../../../src/contract/index.ts';
import { checkedConfig, type Finding } from '../../../src/tools/check/index.ts';
import { findingsOfLoad, runRules } from '../../../src/tools/check/review.ts';
import { MODULES } from '../../../src/modules/index.ts';
import { load, ruleCatalogue } from '../../../src/pipeline.ts';

const catalogue = await ruleCatalogue();

function configured(text: string): { readonly config: CheckedConfig; readonly faults: readonly Finding[] } {
  const directory = tmpdir();
  const loaded = load({
    confFile: join(directory, 'gateway.conf'),
    name: 'gateway.conf',
    prefix: directory,
    text,
  });
  const { tree, bound, report } = loaded;
  if (!tree || !bound) throw new Error('the configuration has no tree');
  const config = checkedConfig({ tree, bound, registry: new Registry(MODULES), modules: MODULES });
  return { config, faults: findingsOfLoad(report, catalogue) };
}

/** A configuration as rules see it, from its text. */
export function configOf(text: string): CheckedConfig {
  return configured(text).config;
}

/** The findings of these rules, by slug; the text is put inside `http { server { … } }` unless it has those. */
export function problemsIn(text: string, ...slugs: readonly string[]): readonly Finding[] {
  const whole = /\b(?:server|http)\s*\{/.test(text) ? text : `server { listen 127.0.0.1:8080; ${text} }`;
  const { config, faults } = configured(/\bhttp\s*\{/.test(whole) ? whole : `events {} http { ${whole} }`);
  const refused = faults.filter(({ severity }) => severity === 'error');
  if (refused.length > 0) throw new Error(refused.map(({ message }) => message).join('; '));
  return runRules(
    config,
    catalogue.rules.filter(({ slug }) => slugs.includes(slug)),
  );
}

/** The messages of one rule for a configuration. */
export function said(text: string, rule: string): readonly string[] {
  return problemsIn(text, rule).map(({ message }) => message);
}
