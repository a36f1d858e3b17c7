import type { CheckedConfig } from '../../contract/index.ts';
import { Locations } from './locations/index.ts';
import { Patterns, type RegexUse, regexUses } from './regex/index.ts';
import { Taints } from './taint/index.ts';

/** The analysis of a configuration that several rules share; each part is computed on first use. */
export class Analysis {
  readonly patterns = new Patterns();
  readonly #config: CheckedConfig;
  #taints: Taints | undefined;
  #regexes: readonly RegexUse[] | undefined;
  #locations: Locations | undefined;

  constructor(config: CheckedConfig) {
    this.#config = config;
  }

  /** All patterns with their places. */
  get regexes(): readonly RegexUse[] {
    return (this.#regexes ??= regexUses(this.#config, this.patterns));
  }

  /** The values that clients can control. */
  get taints(): Taints {
    return (this.#taints ??= new Taints(this.#config, this));
  }

  get locations(): Locations {
    return (this.#locations ??= new Locations(this.#config, this.patterns));
  }
}

const known = new WeakMap<CheckedConfig, Analysis>();

/** The analysis of a configuration, shared by all rules that run over it. */
export function analysisOf(config: CheckedConfig): Analysis {
  const analysis = known.get(config) ?? new Analysis(config);
  known.set(config, analysis);
  return analysis;
}
