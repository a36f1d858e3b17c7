import { type Budget, PREFERRED, shortestWord } from './machine.ts';
import type { Pattern, Patterns } from './pattern.ts';

/** What a pattern for trusted sites is matched on: `https://host`, a URL, or a host. */
export type SiteText = 'origin' | 'referer' | 'host';

const HOST = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*';
const PLAIN: Readonly<Record<SiteText, (host: string) => string>> = {
  origin: (host) => `^https?://${host}$`,
  referer: (host) => `^https?://${host}/$`,
  host: (host) => `^${host}$`,
};
/** With what the site's owner may write behind the host as well. */
const ANY: typeof PLAIN = { ...PLAIN, referer: (host) => `^https?://${host}/[a-z0-9/._?=-]*$` };
/** Where a pattern has a dot that is not escaped, a dot is meant. */
const DOTS_FIRST = `.${PREFERRED}`;

/** Suffixes under which anybody gets a name, as far as two labels of them are common. */
const PUBLIC_SUFFIX =
  /^(?:(?:co|com|org|net|ac|gov|edu)\.[a-z]{2}|(?:github|gitlab)\.io|herokuapp\.com|vercel\.app|netlify\.app|pages\.dev|web\.app|cloudfront\.net|amazonaws\.com|azurewebsites\.net)$/;

interface SiteSearch {
  readonly patterns: Patterns;
  readonly budget: Budget;
}

/** A site that anybody can have and that a pattern accepts, though it is meant for others; `undefined`: none is proven. */
export function acceptedStranger(
  pattern: Pattern,
  kind: SiteText,
  { patterns, budget }: SiteSearch,
): string | undefined {
  const accepted = (host: string, form = ANY): string | undefined => {
    const texts = patterns.of(form[kind](host), false)?.language;
    if (!pattern.language || !texts) return undefined;
    return shortestWord([pattern.language, texts], budget, DOTS_FIRST).word;
  };
  // A pattern that takes every site is meant to.
  if (accepted('evil\\.com', PLAIN) !== undefined) return undefined;
  const meant = accepted(HOST, PLAIN);
  const host = meant && hostOf(meant);
  if (!host) return undefined;
  const behind = accepted(`(?:${HOST}\\.)?evil\\.com`);
  if (behind !== undefined) return behind;
  const strangers = strangersLike(host);
  return strangers.map((stranger) => accepted(escaped(stranger))).find((text) => text !== undefined);
}

function hostOf(text: string): string {
  return text.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
}

/** Names that are registered like a host's own, but by others. */
function strangersLike(host: string): readonly string[] {
  const labels = host.split('.');
  if (labels.length < 2) return [];
  const registered = PUBLIC_SUFFIX.test(labels.slice(-2).join('.')) ? 3 : 2;
  if (labels.length < registered) return [];
  const site = labels.slice(-registered).join('.');
  const joined = labels.slice(0, 1 - registered).join('x');
  const merged = [joined, ...labels.slice(1 - registered)].join('.');
  return labels.length === registered ? [`evil${site}`] : [`evil${site}`, merged];
}

function escaped(text: string): string {
  return text.replaceAll('.', '\\.');
}
