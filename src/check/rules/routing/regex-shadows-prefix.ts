import { analysisOf } from '../../analysis.ts';
import {
  answerOf,
  isSame,
  named,
  ownAnswer,
  ownGuard,
  refuses,
  shownUri,
  wordsOf,
} from '../../locations/index.ts';
import type { Place, Taken } from '../../locations/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const regexShadowsPrefix: Rule = {
  id: 'GW202',
  slug: 'regex-shadows-prefix',
  severity: 'warning',
  summary: 'a prefix location that loses some of its requests to a regex',
  why: 'A regex location wins over a prefix one, however long the prefix is. The requests that it takes are not served from where the prefix location says, and its "deny" or "auth_basic" does not protect them.',
  fix: 'Write "^~" in front of the prefix, so that regexes are not asked below it, or nest the regex location in it.',
  bad: {
    text: 'location /files/ { alias /srv/upload/; }\nlocation ~ \\.(?:css|js)$ { expires 1h; }',
  },
  good: {
    text: 'location ^~ /files/ { alias /srv/upload/; }\nlocation ~ \\.(?:css|js)$ { expires 1h; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const { locations } = analysisOf(config);
    for (const tree of locations.trees) {
      for (const { places } of tree.levels) {
        const regexes = places.filter(isOfAnyFolder).slice(0, MAX_REGEXES);
        if (regexes.length === 0) continue;
        for (const place of places) yield* problemsOf(place, regexes, (uri) => locations.find(uri, tree));
      }
    }
  },
};

/** Where a URI leads. */
type Find = (uri: string) => Place | undefined;

/** More than these are not looked at for one prefix: a configuration of thousands is to be checked at once, too. */
const MAX_REGEXES = 50;

/** Certificate authorities ask for paths without an extension there. */
const CHALLENGE = '/.well-known/';

/** Programs talk to such paths, and there are no files below them. */
const INTERFACE = /\/(?:api|graphql|rpc|wss?|websockets?|sockets?|auth|oauth2?|v\d+)(?:\/|$)/;

/** A regex for files of some kind wherever they are; one that names a folder is meant for that folder. */
function isOfAnyFolder({ match, pattern, block }: Place): boolean {
  const isAnchored = pattern?.ast.alternatives.some(({ elements: [first] }) => first?.type === 'Assertion');
  return match.kind === 'regex' && isAnchored === false && !refuses(block);
}

function* problemsOf(place: Place, regexes: readonly Place[], find: Find): Iterable<Problem> {
  const { match, block } = place;
  if (match.kind !== 'prefix' || match.stop || match.path === '/' || match.path.startsWith(CHALLENGE)) return;
  const own = ownGuard(block) ?? ownAnswer(block);
  const taken = own && firstTaken(place, regexes, find);
  if (!taken) return;
  const { uri, winner } = taken;
  const prefix = block.node!.args.at(-1)!.span;
  const isAlone = block.node!.args.length === 1;
  yield {
    at: wordsOf(place),
    message: `location ${named(place)} does not get all of its requests: "${shownUri(uri)}" goes to ${named(winner)}`,
    related: [
      { span: wordsOf(winner), label: `takes "${shownUri(uri)}"` },
      { span: own.name.span, label: 'does not hold for it' },
    ],
    ...(isAlone && {
      fix: {
        title: 'keep regexes away with "^~": requests that go to them now are answered otherwise then',
        safe: false,
        edits: [{ span: { ...prefix, end: prefix.start }, text: '^~ ' }],
      },
    }),
  };
}

function firstTaken(place: Place, regexes: readonly Place[], find: Find): Taken | undefined {
  const { path } = place.match as { readonly path: string };
  for (const regex of regexes) {
    if (isSame(answerOf(regex.block), ownAnswer(place.block)) || isNoFile(place, regex, path)) continue;
    const uri = path.endsWith('/') || !/\.[^/]*$/.test(path) ? below(path, regex) : path;
    if (uri !== undefined && find(uri) === regex) return { uri, winner: regex };
  }
  return undefined;
}

/** A URI below a folder that a pattern may match. */
function below(path: string, { pattern }: Place): string | undefined {
  const sample = pattern?.sample?.text.replace(/^\//, '');
  if (sample === undefined) return undefined;
  return `${path.endsWith('/') ? path : `${path}/`}${sample.startsWith('.') ? 'a' : ''}${sample}`;
}

/** Applications behind a proxy have no scripts in their URIs, and interfaces no files at all. */
function isNoFile({ block }: Place, { pattern }: Place, path: string): boolean {
  if (ownGuard(block) || ownAnswer(block)?.name.value.endsWith('_pass') !== true) return false;
  return INTERFACE.test(path) || pattern?.regex.test('/a.php') === true;
}
