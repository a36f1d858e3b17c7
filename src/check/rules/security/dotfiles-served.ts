import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { constantText } from '../../../config/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CoreConfig, LocationMatch } from '../../../contract/index.ts';
import { lineBehind } from '../../edits.ts';
import { isOpen, serverOf } from '../../exposure.ts';
import { namesText } from '../../names.ts';
import { targetOf } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** What tools leave beside the files of a site: sources, passwords, keys. */
const LEFT = ['.git', '.svn', '.hg', '.env', '.htpasswd', '.aws', '.ssh', '.npmrc'] as const;

export const dotfilesServed: Rule = {
  id: 'GW316',
  slug: 'dotfiles-served',
  severity: 'warning',
  summary: 'hidden files below a root can be fetched',
  why: 'Robots ask every address for "/.git/config" and "/.env": the source of the site and its passwords.',
  fix: 'Refuse them: "location ~ /\\\\.(?!well-known/) { return 404; }", and keep the repository out of the root.',
  bad: {
    in: 'http',
    text: 'server {\n    listen 80;\n    root site;\n}',
    files: { 'site/.env': 'PASSWORD=1234' },
  },
  good: {
    in: 'http',
    text: 'server {\n    listen 80;\n    root site;\n    location ~ /\\.(?!well-known/) { return 404; }\n}',
    files: { 'site/.env': 'PASSWORD=1234' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('root')) {
      const { documentRoot } = block.config('core') as Partial<CoreConfig>;
      const path = documentRoot && constantText(documentRoot.path);
      const server = serverOf(block);
      if (path === undefined || !server || !isWhole(block) || !isOpen(config, server)) continue;
      if (isProxied(block)) continue;
      const found = LEFT.filter((name) => existsSync(join(path, name)) && !isRefused(server, `/${name}`));
      if (found.length === 0) continue;
      yield {
        at: node,
        message: `${namesText(found)} below this root can be fetched by everybody`,
        ...(block.context === 'server' && {
          fix: {
            title: 'refuse hidden files, except those of "/.well-known/"',
            safe: false,
            edits: [lineBehind(node, REFUSAL)],
          },
        }),
      };
    }
  },
};

const REFUSAL = 'location ~ /\\.(?!well-known/) { return 404; }';

/** The files of the root itself: not those of a folder below it. */
function isWhole({ context, args }: BlockView): boolean {
  const match = args as LocationMatch | undefined;
  return context === 'server' || (match?.kind === 'prefix' && match.path === '/');
}

/** Where all requests go to an upstream no file is served. */
function isProxied(block: BlockView): boolean {
  return [block, ...block.inner].some(
    (one) => (one === block || isWhole(one)) && (targetOf(one) !== undefined || one.own('return').length > 0),
  );
}

/** A location that takes the path and gives no file for it. */
function isRefused(block: BlockView, path: string): boolean {
  return block.inner.some((inner) => {
    if (inner.context !== 'location' || !matches(inner.args as LocationMatch | undefined, path)) return false;
    const refuses = inner
      .own('return', 'deny')
      .some(({ args }) => /^(?:all|4\d\d)$/.test(args[0]?.value ?? ''));
    return refuses || inner.config('core')['internal'] === true || isRefused(inner, path);
  });
}

/** Also what lies below it: tools ask for "/.git/config". */
function matches(match: LocationMatch | undefined, path: string): boolean {
  if (match?.kind === 'regex') {
    const regex = new RegExp(match.regex.source);
    return regex.test(path) || regex.test(`${path}/`) || regex.test(`${path}/config`);
  }
  return match?.kind === 'prefix' && match.path !== '/' && path.startsWith(match.path.replace(/\/$/, ''));
}
