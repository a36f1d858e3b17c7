import type { ModuleExplanation } from '../../contract/index.ts';
import type { LimitConnConfig } from './config.ts';
import type { OpenZone } from './limit.ts';

/** Limits count in zones that only the gateway has: told is who shares a count, and how much it may be. */
export const explanation: ModuleExplanation<LimitConnConfig, ReadonlyMap<string, OpenZone>> = {
  runs: true,
  tell({ limits = [], zones = [], status, dryRun }, _open, build) {
    const keyed = limits.flatMap(({ zone: name, maxRequests }) => {
      const zone = zones.find((each) => each.name === name);
      return zone ? [{ zone, maxRequests, key: build.value(zone.key) }] : [];
    });
    return {
      preaccess: (x) => ({
        does: `limits requests at one time${dryRun ? ', and only logs it' : `, and answers ${status} beyond`}`,
        facts: keyed.map(({ zone, maxRequests, key }) => ({
          label: 'limit',
          value: `${maxRequests} at one time, counted in "${zone.name}" by ${shown(zone.keyText, key(x))}`,
        })),
        unknown: 'the counts',
      }),
    };
  },
};

function shown(text: string, value: string): string {
  const isText = /^[\x20-\x7e]*$/.test(value);
  return value === '' ? `${text}, which is empty: not limited` : isText ? `${text} = "${value}"` : text;
}
