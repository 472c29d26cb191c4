// Which searches ignore case: those without a capital letter, as `--search` and `--entry` of the program do
// (crates/nodescope/src/select.rs). `(?i)` and `(?-i)` in front decide it either way.

const FLAGS = /^\(\?(-?)i\)/;
/** `\S` and `\p{Lu}` are no letters. */
const ESCAPES = /\\(?:[pP]\{[^}]*\}|.)/gsu;

export function ignoresCase(pattern: string): boolean {
  const flags = FLAGS.exec(pattern);
  return flags ? flags[1] === "" : !/\p{Uppercase}/u.test(pattern.replace(ESCAPES, ""));
}

/** Of the expressions that browsers know, not all know flags. */
export function withoutFlags(pattern: string): string {
  return pattern.replace(FLAGS, "");
}

/** Whether a text has what was typed, by the same rule. */
export function includesText(text: string, typed: string): boolean {
  return /\p{Uppercase}/u.test(typed) ? text.includes(typed) : text.toLowerCase().includes(typed.toLowerCase());
}
