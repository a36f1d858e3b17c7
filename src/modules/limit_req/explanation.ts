import type { ModuleExplanation } from '../../contract/index.ts';
import type { LimitReqConfig } from './config.ts';
import type { OpenZone } from './limit.ts';

const THOUSANDTHS = 1000;

/** Limits count in zones that only the gateway has: told is who shares a count, and how much it may be. */
export const explanation: ModuleExplanation<LimitReqConfig, ReadonlyMap<string, OpenZone>> = {
  runs: true,
  tell({ limits = [], zones = [], status, dryRun }, _open, build) {
    const keyed = limits.flatMap(({ zone: name, burst }) => {
      const zone = zones.find((each) => each.name === name);
      return zone ? [{ zone, burst, key: build.value(zone.key) }] : [];
    });
    return {
      preaccess: (x) => ({
        does: `limits how fast requests come${dryRun ? ', and only logs it' : `, and answers ${status} beyond`}`,
        facts: keyed.map(({ zone, burst, key }) => ({
          label: 'limit',
          value: `${zone.ratePerSecond / THOUSANDTHS}r/s, burst ${burst / THOUSANDTHS}, counted in "${zone.name}" by ${shown(zone.keyText, key(x))}`,
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
