import type { DirectiveNode } from '../../../../grammar/index.ts';
import { type CheckedConfig, matchOf, type Problem, type Rule } from '../../../contract/index.ts';
import { contentOf, isSame, ownContent, ownGuard, refuses } from '../access.ts';
import { analysisOf } from '../analysis.ts';
import { quotedLocation, type CheckedLocation, shownUri, type LostUri, wordsOf } from '../locations/index.ts';

const unreachableLocation: Rule = {
  id: 'GW201',
  slug: 'unreachable-location',
  severity: 'warning',
  summary: 'a location that no request can reach',
  why: 'Another location gets all of its requests: an exact one, a "^~" prefix, or an earlier regex that matches everything that this one matches. The directives of this location, such as "deny", have no effect.',
  fix: 'Put the narrower regex before the broader one, or narrow the location that wins.',
  bad: {
    text: 'location ~ ^/docs/ { return 200 docs; }\nlocation ~ ^/docs/.*\\.pdf$ { return 200 pdf; }',
  },
  good: {
    text: 'location ~ ^/docs/.*\\.pdf$ { return 200 pdf; }\nlocation ~ ^/docs/ { return 200 docs; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { location, reach } of analysisOf(config).locations.reached()) {
      if (reach.kind === 'none') yield unreachableProblem(location, reach.instead);
    }
  },
};

function unreachableProblem(location: CheckedLocation, instead: LostUri | undefined): Problem {
  const { around } = location.level;
  if (!instead || instead.winner === around) {
    const inside = around ? ` inside ${quotedLocation(around)}` : '';
    return {
      at: wordsOf(location),
      message: `location ${quotedLocation(location)} never matches: no URI${inside} has this form`,
      ...(!around && { hint: 'a URI begins with "/"' }),
      ...(around && { related: [{ span: wordsOf(around), label: 'only these URIs get here' }] }),
    };
  }
  const { uri, winner } = instead;
  return {
    at: wordsOf(location),
    message: `location ${quotedLocation(location)} never matches: ${quotedLocation(winner)} wins for "${shownUri(uri)}"`,
    label: 'never matches',
    related: [{ span: wordsOf(winner), label: `takes "${shownUri(uri)}"` }],
  };
}

const regexShadowsPrefix: Rule = {
  id: 'GW202',
  slug: 'regex-shadows-prefix',
  severity: 'warning',
  summary: 'a regex location takes some requests of a prefix location',
  why: 'A regex location wins over a prefix location, however long the prefix is. For the requests that it takes, the directives of the prefix location do not apply, not even "deny" or "auth_basic".',
  fix: 'Write "^~" before the prefix, so that regexes are not tried for it, or nest the regex location in it.',
  bad: {
    text: 'location /files/ { alias /srv/upload/; }\nlocation ~ \\.(?:css|js)$ { expires 1h; }',
  },
  good: {
    text: 'location ^~ /files/ { alias /srv/upload/; }\nlocation ~ \\.(?:css|js)$ { expires 1h; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const analysed = analysisOf(config).locations;
    for (const tree of analysed.trees) {
      for (const { locations } of tree.levels) {
        const regexes = locations.filter(isOfAnyFolder).slice(0, MAX_REGEXES);
        if (regexes.length === 0) continue;
        for (const location of locations)
          yield* shadowProblems(location, regexes, (uri) => analysed.find(uri, tree));
      }
    }
  },
};

/** Finds the location of a URI. */
type Find = (uri: string) => CheckedLocation | undefined;

/** Maximum number of regexes that are compared with one prefix, so that thousands are checked fast. */
const MAX_REGEXES = 50;

/** Certificate authorities request paths without extension below it. */
const CHALLENGE = '/.well-known/';

/** Paths of programming interfaces, below which there are no files. */
const INTERFACE = /\/(?:api|graphql|rpc|wss?|websockets?|sockets?|auth|oauth2?|v\d+)(?:\/|$)/;

/** True for a regex for files in any directory. A regex that names a directory is meant for it. */
function isOfAnyFolder({ match, pattern, block }: CheckedLocation): boolean {
  const isAnchored = pattern?.ast.alternatives.some(({ elements: [first] }) => first?.type === 'Assertion');
  return match.kind === 'regex' && isAnchored === false && !refuses(block);
}

function* shadowProblems(
  location: CheckedLocation,
  regexes: readonly CheckedLocation[],
  find: Find,
): Iterable<Problem> {
  const { match, block } = location;
  if (match.kind !== 'prefix' || match.stop || match.path === '/' || match.path.startsWith(CHALLENGE)) return;
  const own = ownGuard(block) ?? ownContent(block);
  const taken = own && firstLost(location, regexes, find);
  if (!taken) return;
  const { uri, winner } = taken;
  const prefix = block.node!.args.at(-1)!.span;
  const isAlone = block.node!.args.length === 1;
  yield {
    at: wordsOf(location),
    message: `location ${quotedLocation(location)} does not get all of its requests: "${shownUri(uri)}" goes to ${quotedLocation(winner)}`,
    related: [
      { span: wordsOf(winner), label: `takes "${shownUri(uri)}"` },
      { span: own.name.span, label: 'does not apply to it' },
    ],
    ...(isAlone && {
      fix: {
        title: 'add "^~": requests that regexes take now are then served here',
        safe: false,
        edits: [{ span: { ...prefix, end: prefix.start }, text: '^~ ' }],
      },
    }),
  };
}

function firstLost(
  location: CheckedLocation,
  regexes: readonly CheckedLocation[],
  find: Find,
): LostUri | undefined {
  const { path } = location.match as { readonly path: string };
  for (const regex of regexes) {
    if (isSame(contentOf(regex.block), ownContent(location.block)) || isNoFile(location, regex, path))
      continue;
    const uri = path.endsWith('/') || !/\.[^/]*$/.test(path) ? below(path, regex) : path;
    if (uri !== undefined && find(uri) === regex) return { uri, winner: regex };
  }
  return undefined;
}

/** A URI below a folder that a pattern may match. */
function below(path: string, { pattern }: CheckedLocation): string | undefined {
  const sample = pattern?.sample?.text.replace(/^\//, '');
  if (sample === undefined) return undefined;
  return `${path.endsWith('/') ? path : `${path}/`}${sample.startsWith('.') ? 'a' : ''}${sample}`;
}

/** True if the URIs are not files: neither URIs of applications behind a proxy nor those of interfaces are. */
function isNoFile({ block }: CheckedLocation, { pattern }: CheckedLocation, path: string): boolean {
  if (ownGuard(block) || ownContent(block)?.name.value.endsWith('_pass') !== true) return false;
  return INTERFACE.test(path) || pattern?.regex.test('/a.php') === true;
}

const regexOrder: Rule = {
  id: 'GW203',
  slug: 'regex-order',
  severity: 'info',
  summary: 'a regex location after a broader one that takes all of its ordinary requests',
  why: 'Regex locations are tried in the order of the file, and the first match wins. Only unusual URIs, for example with control characters or empty segments, do not match the broader one.',
  fix: 'Put the narrower regex before the broader one.',
  bad: {
    text: 'location ~ ^/docs/.*$ { return 200 docs; }\nlocation ~ ^/docs/[^/]*\\.pdf$ { return 200 pdf; }',
  },
  good: {
    text: 'location ~ ^/docs/[^/]*\\.pdf$ { return 200 pdf; }\nlocation ~ ^/docs/.*$ { return 200 docs; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { location, reach } of analysisOf(config).locations.reached()) {
      if (reach.kind !== 'odd' || location.match.kind !== 'regex' || !reach.instead) continue;
      const { uri, winner } = reach.instead;
      yield {
        at: wordsOf(location),
        message: `location ${quotedLocation(location)} gets only unusual URIs such as "${shownUri(reach.uri)}": ${quotedLocation(winner)} wins for "${shownUri(uri)}"`,
        related: [{ span: wordsOf(winner), label: `takes "${shownUri(uri)}"` }],
      };
    }
  },
};

const duplicateLocation: Rule = {
  id: 'GW204',
  slug: 'duplicate-location',
  severity: 'error',
  summary: 'two locations of one block with the same path',
  why: 'It is unclear which of the two should serve a request.',
  fix: 'Delete one of them, or make one of them exact ("=").',
  bad: { text: 'location /a { return 204; }\nlocation ^~ /a { return 404; }' },
  good: { text: 'location /a { return 204; }\nlocation = /a { return 404; }' },
};

const namedLocationUnused: Rule = {
  id: 'GW218',
  slug: 'named-location-unused',
  severity: 'info',
  summary: 'a named location that nothing refers to',
  why: 'Only directives such as "try_files" and "error_page" lead to a named location, so it never serves a request. Usually, a name is misspelt.',
  fix: 'Refer to it, or delete it.',
  bad: { text: 'location @old { return 410; }' },
  good: { text: 'error_page 404 @old;\nlocation @old { return 410; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of config.blocks('server')) {
      const above = server.outer?.own(...SENDS_ON) ?? [];
      const names = namesIn([...above, ...server.own()]);
      // A variable may contain any name.
      if ([...names].some((name) => name.includes('$'))) continue;
      for (const block of server.inner) {
        const { node } = block;
        const match = matchOf(block);
        if (!node || match?.kind !== 'named' || names.has(match.name)) continue;
        const span = node.args.at(-1)?.span ?? node.name.span;
        yield { at: span, message: `named location "${match.name}" is never referred to` };
      }
    }
  },
};

/** Directives of the `http` block whose last parameter may name a location. */
const SENDS_ON = ['error_page', 'post_action'];

/** The words of a server, inherited ones included, that name a location or may do so. */
function namesIn(nodes: readonly DirectiveNode[]): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...nodes];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    waiting.push(...(node.block ?? []));
    if (node.name.value === 'location') continue;
    const last = SENDS_ON.includes(node.name.value) ? node.args.at(-1)?.value : undefined;
    for (const { value } of node.args) if (value.startsWith('@')) found.add(value);
    if (last?.startsWith('$')) found.add(last);
  }
  return found;
}

/** The rules about locations. */
export const LOCATION_RULES: readonly Rule[] = [
  unreachableLocation,
  regexShadowsPrefix,
  regexOrder,
  duplicateLocation,
  namedLocationUnused,
];
