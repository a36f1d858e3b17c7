/** An entry of Webdis' `acl`. */
export interface Rule {
  /** A network; absent: any. */
  readonly ip?: string;
  /** `user:password`; absent: anybody. */
  readonly http_basic_auth?: string;
  readonly enabled?: readonly string[];
  readonly disabled?: readonly string[];
}

/** The rules of a file; what is none of them is left out. */
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

/** What is no text stays in the rule as what matches nobody. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Who may call a command. */
export interface Access {
  readonly kind: 'everybody' | 'some' | 'nobody';
  /** Shut out, whoever else may. */
  readonly except: readonly string[];
  /** Of some: empty where the login alone decides. */
  readonly networks: readonly string[];
  /** Of some: empty where the network alone decides. */
  readonly users: readonly string[];
  /** Of some: a network or a login is enough. */
  readonly either: boolean;
}

/** What the rules so far come to for one command. */
interface AclState {
  readonly isOpen: boolean;
  /** Who may all the same while it is not open. */
  readonly allowed: readonly Rule[];
  readonly except: readonly string[];
}

/**
 * Who may call a command: rules are read in order, later ones supersede earlier ones. What gw cannot express lets fewer
 * clients through, never more.
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
  // In one rule, what is disabled counts behind what is enabled.
  const isDisabled = names(rule.disabled, (name) => name.startsWith(command));
  const isEnabled = !isDisabled && names(rule.enabled, (name) => name === command);
  if (!isDisabled && !isEnabled) return before;
  if (ip === undefined && login === undefined) return { isOpen: isEnabled, allowed: [], except: [] };
  const { isOpen, allowed, except } = before;
  if (isEnabled) {
    const still = login === undefined ? except.filter((network) => network !== ip) : except;
    return { isOpen, allowed: isOpen ? allowed : [...allowed, rule], except: still };
  }
  // Whoever is shut out by a login simply does not log in: it only takes back what the login gave.
  if (login !== undefined) {
    return { isOpen, except, allowed: allowed.filter((entry) => entry.http_basic_auth !== login) };
  }
  return { isOpen, allowed: allowed.filter((entry) => entry.ip !== ip), except: [...except, ip as string] };
}

/** Webdis compares as much of a name as the request has: a rule for EXPIREAT holds for EXPIRE too. */
function names(list: readonly string[] = [], matches: (name: string) => boolean): boolean {
  return list.some((name) => name.startsWith('*') || matches(name.toLowerCase()));
}

/** Networks and logins apart are one or the other. Of entries that ask for both, one network counts with its users. */
function someOf(allowed: readonly Rule[], except: readonly string[]): Omit<Access, 'kind'> {
  const both = allowed.filter((entry) => entry.ip !== undefined && entry.http_basic_auth !== undefined);
  const counting = both.length === 0 ? allowed : both.filter(({ ip }) => ip === both[0]?.ip);
  const networks = [...new Set(counting.flatMap(({ ip }) => ip ?? []))];
  const users = [
    ...new Set(counting.flatMap(({ http_basic_auth: login }) => login?.replace(/:.*$/s, '') ?? [])),
  ];
  // A login would open the door to a network that is shut out.
  const either = both.length === 0 && except.length === 0 && networks.length > 0 && users.length > 0;
  return { except, networks, users, either };
}
