import { type Budget, PREFERRED, shortestWord } from './machine.ts';
import type { Pattern, Patterns } from './pattern.ts';

/** The kind of text that a pattern for trusted sites is matched against: `https://host`, a URL, or a host. */
type SiteText = 'origin' | 'referer' | 'host';

const HOST = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*';
const PLAIN: Readonly<Record<SiteText, (host: string) => string>> = {
  origin: (host) => `^https?://${host}$`,
  referer: (host) => `^https?://${host}/$`,
  host: (host) => `^${host}$`,
};
/** Texts with any path after the host, which the owner of a site controls. */
const ANY: typeof PLAIN = { ...PLAIN, referer: (host) => `^https?://${host}/[a-z0-9/._?=-]*$` };
/** Examples prefer a dot, which an unescaped dot in a pattern is meant for. */
const DOTS_FIRST = `.${PREFERRED}`;

/** Common suffixes of two labels under which anybody can register a name. */
const PUBLIC_SUFFIX =
  /^(?:(?:co|com|org|net|ac|gov|edu)\.[a-z]{2}|(?:github|gitlab)\.io|herokuapp\.com|vercel\.app|netlify\.app|pages\.dev|web\.app|cloudfront\.net|amazonaws\.com|azurewebsites\.net)$/;

interface SiteSearch {
  readonly patterns: Patterns;
  readonly budget: Budget;
}

/**
 * A site that anybody can register and that a pattern accepts although it is meant for others; `undefined` if none is
 * proven.
 */
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
  // A pattern that accepts every site is meant to.
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

/** Names that others can register, similar to a host. */
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
