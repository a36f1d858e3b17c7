import type { Build, VariableDefinition } from '../../../contract/index.ts';
import type { Getter } from '../../../http/index.ts';
import { DictionaryFault } from '../../../zone/index.ts';
import type { ControlConfig, ControlResources } from '../resources.ts';
import type { KeyvalVariable } from './directives.ts';
import type { Lookup } from './matching.ts';

/** `keyval key $variable zone=name`: the variable is the value of a key, and empty if the zone has none. */
export function keyvalVariables(
  { keyvals = [] }: ControlConfig,
  { lookups }: ControlResources,
): Readonly<Record<string, VariableDefinition>> {
  return Object.fromEntries(
    keyvals.map((keyval) => [
      keyval.variable,
      {
        summary: `A value of the keyval zone "${keyval.zone}".`,
        live: 'even empty',
        compile: (build) => compileKeyval(keyval, lookups.get(keyval.zone) as Lookup, build),
      },
    ]),
  );
}

function compileKeyval({ key, zone }: KeyvalVariable, lookup: Lookup, build: Build): Getter {
  const readKey = build.value(key);
  return (x) => {
    try {
      const value = lookup(readKey(x));
      return value === undefined ? undefined : String(value);
    } catch (error) {
      if (!(error instanceof DictionaryFault)) throw error;
      x.writeLog(`the value of a key of keyval zone "${zone}" counts as empty: ${error.message}`);
      return undefined;
    }
  };
}
