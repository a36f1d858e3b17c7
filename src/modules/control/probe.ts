import { DictionaryFault } from '../../zone/index.ts';
import type { Dictionary } from '../../zone/index.ts';
import type { Endpoint } from './endpoint.ts';
import { sendOk } from './envelope.ts';
import { ControlFault } from './fault.ts';
import { readQuery, required } from './query.ts';

/** In case that this thread dies before it has removed the sentinel. */
const SENTINEL_TTL_MS = 1_000;

/** `/runtime/cache/probe`: whether a dictionary can be written and read. */
export const cacheProbe: Endpoint = probe('cache_probe', {
  what: 'cache',
  subject: 'shared dict',
  fields: (dict) => ({ dict }),
});

/** `/runtime/session/probe`: the same for the dictionary of sessions. */
export const sessionProbe: Endpoint = probe('session_probe', {
  what: 'session',
  subject: 'session dict',
  fields: (dict) => ({ dict, session_dict: dict }),
});

interface Probe {
  readonly what: string;
  readonly subject: string;
  fields(dict: string): Record<string, string>;
}

function probe(name: string, { what, subject, fields }: Probe): Endpoint {
  return {
    name,
    path: `${what}/probe`,
    description: `whether the ${what} dictionary ?dict= can be written and read`,
    writes: true,
    compile: ({ resources: { dictionaries, worker } }) => {
      let count = 0;
      return (x) => {
        const dict = required(readQuery(x.args), 'dict');
        const sentinel = `gw probe ${worker.workerId} ${worker.generation} ${++count}`;
        if (!isReachable(dictionaries.get(dict), sentinel)) {
          throw new ControlFault(200, `${subject} not reachable: ${dict}`);
        }
        sendOk(x, { ...fields(dict), reachable: 'true' });
      };
    },
  };
}

function isReachable(dictionary: Dictionary | undefined, sentinel: string): boolean {
  try {
    dictionary?.set(sentinel, sentinel, SENTINEL_TTL_MS);
    return dictionary?.get(sentinel) === sentinel && dictionary.delete(sentinel);
  } catch (error) {
    if (error instanceof DictionaryFault) return false;
    throw error;
  }
}
