import { type BlockView, byHeader } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../../contract/index.ts';
import { isRefusal } from '../access.ts';
import { type Analysis, analysisOf } from '../analysis.ts';
import { acceptedStranger, type RegexUse } from '../regex/index.ts';

const originRegex: Rule = {
  id: 'GW313',
  slug: 'origin-regex',
  severity: 'error',
  summary: 'a pattern for trusted sites that also accepts other sites',
  why: 'Without anchors, or with a dot that is not escaped, the pattern accepts hosts that anyone can register. Their pages can then read responses with the cookies of the user, or pass for yours.',
  fix: 'Match the whole origin: "^https://(?:[a-z0-9-]+\\.)*example\\.com$".',
  bad: {
    in: 'http',
    text: 'map $http_origin $cors {\n  default "";\n  ~^https://example\\.com $http_origin;\n}',
  },
  good: {
    in: 'http',
    text: 'map $http_origin $cors {\n  default "";\n  ~^https://example\\.com$ $http_origin;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const analysis = analysisOf(config);
    for (const use of analysis.regexes) {
      const accepted = isAllowList(use) ? strangerOf(use, analysis) : undefined;
      if (accepted === undefined) continue;
      yield { at: use.at, message: `pattern "${use.pattern.text}" accepts "${accepted}"` };
    }
  },
};

/** Returns whether a match is allowed: lists of bad sites have the same form. */
function isAllowList({ kind, subject, negated, block, line }: RegexUse): boolean {
  if (subject === undefined || !/^(?:http_(?:origin|referer|host)|host)$/.test(subject)) return false;
  const isOrigin = subject === 'http_origin';
  if (kind === 'map') return isOrigin && !/^(?:0|off|no|deny)?$/.test(line?.args[0]?.value ?? '');
  if (kind !== 'if') return false;
  const refuses = block.own('return').some(isRefusal);
  return negated === true ? refuses : isOrigin && !refuses;
}

function strangerOf({ pattern, subject }: RegexUse, { patterns, locations }: Analysis): string | undefined {
  const kind = subject === 'http_origin' ? 'origin' : subject === 'http_referer' ? 'referer' : 'host';
  return acceptedStranger(pattern, kind, { patterns, budget: locations.budget });
}

const corsStarCredentials: Rule = {
  id: 'GW314',
  slug: 'cors-star-credentials',
  severity: 'error',
  summary: 'any site can read responses to a logged-in user',
  why: 'With "Access-Control-Allow-Credentials", any page can read what the user can read if the origin of the request is sent back. If "*" is sent, browsers refuse every page.',
  fix: 'Send back only origins that a "map" lists.',
  bad: {
    in: 'location',
    text: 'add_header Access-Control-Allow-Origin $http_origin;\nadd_header Access-Control-Allow-Credentials true;',
  },
  good: {
    in: 'http',
    text: 'map $http_origin $allowed_origin {\n    default "";\n    https://shop.example $http_origin;\n}\nserver {\n    listen 127.0.0.1:8080;\n    add_header Access-Control-Allow-Origin $allowed_origin;\n    add_header Access-Control-Allow-Credentials true;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocksWith('add_header')) {
      const headers = byHeader(block.effective('add_header'));
      const origin = headers.get('access-control-allow-origin');
      const credentials = headers.get('access-control-allow-credentials');
      const value = origin?.args[1]?.value;
      if (!origin || credentials?.args[1]?.value.toLowerCase() !== 'true') continue;
      const isReflected = /^\$(?:http_origin|\{http_origin\})$/i.test(value ?? '');
      if (value !== '*' && !(isReflected && !isChecked(block))) continue;
      yield {
        at: origin,
        message: `"Access-Control-Allow-Origin ${value}" with credentials ${isReflected ? 'lets any page read what the user can read' : 'is refused by browsers'}`,
        related: [{ span: credentials.span, label: 'allows credentials' }],
      };
    }
  },
};

/** True if an enclosing or preceding `if` tests the origin. */
function isChecked(block: BlockView): boolean {
  return [...block.outward()].some((around) =>
    [around.node, ...around.own('if')].some(
      (node) =>
        node?.name.value === 'if' &&
        node.args.some(({ value }) => value.toLowerCase().includes('$http_origin')),
    ),
  );
}

/** The rules about trusted sites. */
export const ORIGIN_RULES: readonly Rule[] = [originRegex, corsStarCredentials];
