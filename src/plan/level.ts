import type { Report, Span } from '../../grammar/index.ts';
import type { BoundBlock, ResolvedConfig, ResolvedConfigs } from '../config/index.ts';
import {
  type ConfigFault,
  type ConfigReport,
  configOf,
  type CoreConfig,
  type ServerName,
} from '../contract/index.ts';
import type { ServerPlan } from './plan.ts';

/** Returns the core's config of a block. */
export function coreOf(level: ResolvedConfigs): CoreConfig {
  return configOf(level, 'core');
}

/** Returns all names in the `server_name` directives of a server; without any, the empty name. */
export function serverNamesOf(level: ResolvedConfigs): readonly ServerName[] {
  return coreOf(level).serverNames?.flat() ?? [{ kind: 'exact', name: '' }];
}

/** A server with its config, for planning ports. */
export interface PlannedServer {
  readonly plan: ServerPlan;
  readonly level: ResolvedConfigs;
  readonly block: BoundBlock;
}

type FieldFault = ConfigFault & { readonly index?: number | undefined };

/** Reports the faults of a module's config with the name and place of the directive. */
export class ConfigReporter implements ConfigReport<Record<string, unknown>> {
  readonly #config: ResolvedConfig;
  readonly #report: Report;

  constructor(config: ResolvedConfig, report: Report) {
    this.#config = config;
    this.#report = report;
  }

  on(field: string, predicate: string, more?: string | ConfigFault): void {
    this.#report.emerg(`"${this.#directive(field)}" ${predicate}`, this.#span(field), more);
  }

  warn(field: string, predicate: string, more?: string | ConfigFault): void {
    this.#report.warn(`"${this.#directive(field)}" ${predicate}`, this.#span(field), more);
  }

  phrase(field: string, message: string, { index = 0, ...details }: FieldFault = {}): void {
    this.#report.emerg(message, this.#span(field, index), details);
  }

  #directive(field: string): string {
    return this.#config.from.get(field)?.directive ?? field;
  }

  #span(field: string, index = 0): Span | undefined {
    const { from } = this.#config;
    // The directive may be absent: a default can be wrong in combination with a field that is set.
    return (from.get(field) ?? from.values().next().value)?.spans[index];
  }
}
