import { posix } from 'node:path';
import type { LocationMatch } from '../../../contract/index.ts';
import { analysisOf } from '../../analysis.ts';
import type { BlockView } from '../../../config/index.ts';
import type { Patterns } from '../../regex/index.ts';
import type { CheckedConfig, Problem, Rule, Use } from '../../rule.ts';
import { shown } from '../../shown.ts';

/** Directories of the system itself: no site lives right in one of them. */
const SYSTEM = new Set(
  '/ /bin /boot /dev /etc /etc/nginx /etc/ssh /etc/ssl /home /lib /lib64 /proc /root /run /sbin /sys /usr /usr/local /var /var/lib /var/log /var/run'.split(
    ' ',
  ),
);
/** In these every directory belongs to the system. */
const BELOW = /^\/(?:boot|etc\/(?:ssh|ssl)|proc|root\/\.ssh|sys)\//;

export const rootExposure: Rule = {
  id: 'GW302',
  slug: 'root-exposure',
  severity: 'error',
  summary: 'a directory of the system is served',
  why: 'Everybody can read what the gateway can: configuration, keys, password hashes, logs.',
  fix: 'Name the directory that holds the site and nothing else.',
  bad: { text: 'root /;' },
  good: { text: 'root /srv/www;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const { patterns } = analysisOf(config);
    for (const use of config.uses('root', 'alias')) {
      const path = servedBy(use, patterns);
      if (path === undefined || !(SYSTEM.has(path) || BELOW.test(`${path}/`))) continue;
      const [word] = use.node.args;
      const what = path === '/' ? 'the whole file system' : `the directory "${path}" of the system`;
      yield {
        at: use.node,
        message: `"${use.node.name.value} ${shown(word, word?.value ?? '')}" serves ${what}`,
      };
    }
  },
};

/** The directory whose files a location gives away; `undefined` where it is not known, or one file is named. */
function servedBy({ node, block }: Use, patterns: Patterns): string | undefined {
  const value = node.args[0]?.value;
  if (!value?.startsWith('/') || value.includes('$')) return undefined;
  const match = matchOf(block);
  if (node.name.value === 'alias') return match?.kind === 'prefix' ? withoutSlash(value) : undefined;
  if (match?.kind === 'exact') return undefined;
  return withoutSlash(value + pathTo(block, patterns));
}

/** What the paths of all requests begin with that get to a block. */
function pathTo(block: BlockView, patterns: Patterns): string {
  const match = matchOf(block);
  if (match?.kind === 'prefix') return match.path;
  const start = match?.kind === 'regex' ? patterns.read(match.regex, match.caseless).start : '';
  return start !== '' || !block.outer ? start : pathTo(block.outer, patterns);
}

function matchOf({ context, args }: BlockView): LocationMatch | undefined {
  return context === 'location' ? (args as LocationMatch | undefined) : undefined;
}

function withoutSlash(path: string): string {
  const normal = posix.normalize(path);
  return normal === '/' ? normal : normal.replace(/\/$/, '');
}
