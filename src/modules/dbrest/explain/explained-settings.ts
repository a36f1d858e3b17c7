import type { ExplainedFact, Explainer } from '../../../contract/index.ts';
import { effectiveConfig } from '../settings/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { SchemaCache } from '../schema/index.ts';

interface SettingsParts {
  readonly file: DbrestConfig;
  /** Absent: the database is not asked. */
  readonly schema: Pick<SchemaCache, 'current'> | undefined;
  /** Returns the explainer of a configuration. */
  readonly explainerOf: (config: DbrestConfig) => Promise<Explainer>;
}

/** `dbrest_config on`: explains requests by the settings in the database, if it may be asked, and lists them. */
export function explainWithSettings({ file, schema, explainerOf }: SettingsParts): Explainer {
  let chosen: Promise<Choice> | undefined;
  const choose = async (): Promise<Choice> => {
    if (!schema) return ofFile('the settings in the database: "--live" reads them');
    try {
      const { settings = [] } = await schema.current();
      const { config, applied, findings } = effectiveConfig(file, settings);
      const ignored = findings.map(({ name, message }) => fact('setting', `"${name}" ${message}`));
      return {
        explainer: await explainerOf(config),
        facts: [...applied.map((name) => fact('setting', `${name}, of the database`)), ...ignored],
      };
    } catch (error) {
      return ofFile(`the settings in the database, which cannot be read: ${(error as Error).message}`);
    }
  };
  const ofFile = async (unknown: string): Promise<Choice> => ({
    explainer: await explainerOf(file),
    facts: [fact('setting', 'those of the file')],
    unknown,
  });
  return async (x) => {
    const { explainer, facts, unknown } = await (chosen ??= choose());
    const action = await explainer(x);
    if (!action) return undefined;
    const unknowns = [unknown, action.unknown].filter((one) => one !== undefined);
    return {
      ...action,
      facts: [...facts, ...(action.facts ?? [])],
      ...(unknowns.length > 0 && { unknown: unknowns.join('; ') }),
    };
  };
}

interface Choice {
  readonly explainer: Explainer;
  readonly facts: readonly ExplainedFact[];
  readonly unknown?: string;
}

function fact(label: string, value: string): ExplainedFact {
  return { label, value };
}
