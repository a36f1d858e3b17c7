import type { ComplexValue } from '../../config/index.ts';

/** What the control surface reads of the configuration of one location. */
export interface ControlConfig {
  /** Name of the endpoint that this location serves, or the whole inventory below its path. */
  readonly api?: string;
  /** This location serves the console. */
  readonly console: boolean;
  /** Name of the dictionary that holds the flags. */
  readonly flagsZone: string;
  readonly dictionaries?: readonly DictionaryConfig[];
  readonly flags?: readonly FlagVariable[];
  /** True: browsers may be led here by other sites and by foreign names. */
  readonly crossSite: boolean;
}

/** `control_api;` without a name. */
export const WHOLE_INVENTORY = '';

/** `shared_dict_zone zone=name:size [timeout=t] [evict]`. */
export interface DictionaryConfig {
  readonly name: string;
  readonly sizeBytes: number;
  /** 0: entries stay until they are deleted. */
  readonly timeoutMs: number;
  readonly evict: boolean;
}

/** `feature_flag $variable name [key=value]`. */
export interface FlagVariable {
  /** In lower case. */
  readonly variable: string;
  readonly flag: string;
  readonly key: ComplexValue;
}
