/** An entry of Webdis' `acl`. */
export interface Rule {
  /** Network; absent: any. */
  readonly ip?: string;
  /** `user:password`; absent: anybody. */
  readonly http_basic_auth?: string;
  readonly enabled?: readonly string[];
  readonly disabled?: readonly string[];
}

/** Returns the rules in a file; invalid entries are left out. */
export function readRules(acl: unknown): readonly Rule[] {
  const given = (Array.isArray(acl) ? acl : []) as readonly unknown[];
  return given
    .filter((rule) => typeof rule === 'object' && rule !== null)
    .map((rule) => {
      const { ip, http_basic_auth: login, enabled, disabled } = rule as Record<string, unknown>;
      return {
        ...(ip !== undefined && { ip: textOf(ip) }),
        ...(login !== undefined && { http_basic_auth: textOf(login) }),
        enabled: textsOf(enabled),
        disabled: textsOf(disabled),
      };
    });
}

function textsOf(list: unknown): readonly string[] {
  return ((Array.isArray(list) ? list : []) as readonly unknown[]).map(textOf);
}

/** Returns a text that matches no client, for a value that is not a text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The clients that may call a command. */
export interface Access {
  readonly kind: 'everybody' | 'some' | 'nobody';
  /** Networks that are always denied. */
  readonly except: readonly string[];
  /** Allowed networks; empty if only the login decides. */
  readonly networks: readonly string[];
  /** Allowed logins; empty if only the network decides. */
  readonly users: readonly string[];
  /** True if a network or a login is enough. */
  readonly either: boolean;
}

/** The effect of the rules so far on one command. */
interface AclState {
  readonly isOpen: boolean;
  /** Rules that allow some clients while the command is not open to all. */
  readonly allowed: readonly Rule[];
  readonly except: readonly string[];
}

/**
 * Returns the clients that may call a command. Rules are read in order; later ones supersede earlier ones. If gw cannot
 * express a rule, fewer clients are allowed, never more.
 */
export function accessTo(command: string, rules: readonly Rule[]): Access {
  const state = rules.reduce<AclState>((before, rule) => after(before, rule, command), {
    isOpen: true,
    allowed: [],
    except: [],
  });
  const { isOpen, allowed, except } = state;
  if (isOpen) return { kind: 'everybody', except, networks: [], users: [], either: false };
  return { ...someOf(allowed, except), kind: allowed.length === 0 ? 'nobody' : 'some' };
}

function after(before: AclState, rule: Rule, command: string): AclState {
  const { ip, http_basic_auth: login } = rule;
  // In one rule `disabled` applies after `enabled`.
  const isDisabled = names(rule.disabled, (name) => name.startsWith(command));
  const isEnabled = !isDisabled && names(rule.enabled, (name) => name === command);
  if (!isDisabled && !isEnabled) return before;
  if (ip === undefined && login === undefined) return { isOpen: isEnabled, allowed: [], except: [] };
  const { isOpen, allowed, except } = before;
  if (isEnabled) {
    const still = login === undefined ? except.filter((network) => network !== ip) : except;
    return { isOpen, allowed: isOpen ? allowed : [...allowed, rule], except: still };
  }
  // A client can avoid a denied login by not logging in, so the rule only revokes what the login allowed.
  if (login !== undefined) {
    return { isOpen, except, allowed: allowed.filter((entry) => entry.http_basic_auth !== login) };
  }
  return { isOpen, allowed: allowed.filter((entry) => entry.ip !== ip), except: [...except, ip as string] };
}

/** Webdis compares only as many characters as the request has: a rule for EXPIREAT also applies to EXPIRE. */
function names(list: readonly string[] = [], matches: (name: string) => boolean): boolean {
  return list.some((name) => name.startsWith('*') || matches(name.toLowerCase()));
}

/**
 * Combines rules with networks and rules with logins: either is enough. Of rules that require both, only one network
 * with its users can be expressed.
 */
function someOf(allowed: readonly Rule[], except: readonly string[]): Omit<Access, 'kind'> {
  const both = allowed.filter((entry) => entry.ip !== undefined && entry.http_basic_auth !== undefined);
  const counting = both.length === 0 ? allowed : both.filter(({ ip }) => ip === both[0]?.ip);
  const networks = [...new Set(counting.flatMap(({ ip }) => ip ?? []))];
  const users = [
    ...new Set(counting.flatMap(({ http_basic_auth: login }) => login?.replace(/:.*$/s, '') ?? [])),
  ];
  // With a denied network, `satisfy any` would let its logins in.
  const either = both.length === 0 && except.length === 0 && networks.length > 0 && users.length > 0;
  return { except, networks, users, either };
}
