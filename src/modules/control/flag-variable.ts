import type { Build, VariableDefinition } from '../../contract/index.ts';
import type { Exchange, Getter } from '../../http/index.ts';
import { DictionaryFault } from '../../zone/index.ts';
import type { Dictionary } from '../../zone/index.ts';
import type { ControlConfig, FlagVariable } from './config.ts';
import { isOnFor } from './flags.ts';
import type { ControlResources } from './resources.ts';

/** `feature_flag $variable name [key=value]`: 1 or 0 for the request that reads it. */
export function flagVariables(
  { flags = [], flagsZone }: ControlConfig,
  { dictionaries }: ControlResources,
): Readonly<Record<string, VariableDefinition>> {
  const dictionary = dictionaries.get(flagsZone) as Dictionary;
  return Object.fromEntries(
    flags.map((flag) => [
      flag.variable,
      {
        summary: `The feature flag ${flag.flag}.`,
        live: true,
        compile: (build) => compileFlag(flag, dictionary, build),
      },
    ]),
  );
}

function compileFlag({ flag, key }: FlagVariable, dictionary: Dictionary, build: Build): Getter {
  const readKey = build.value(key);
  return (x) => (isOnFor(read(dictionary, flag, x), () => readKey(x)) ? '1' : '0');
}

/** A dictionary that cannot be read turns the feature off; the request goes on. */
function read(dictionary: Dictionary, flag: string, x: Exchange): ReturnType<Dictionary['get']> {
  try {
    return dictionary.get(flag);
  } catch (error) {
    if (!(error instanceof DictionaryFault)) throw error;
    x.rules.warn(`feature flag "${flag}" counts as off: ${error.message}`, x);
    return undefined;
  }
}
