// The one place where texts become XML: names come from outside and may hold anything. And how much room they take.

/** XML has no halves of characters, and two numbers that are no characters. */
const ILLEGAL = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g;

export function escapeXml(text: string): string {
  const legal = text.replace(ILLEGAL, "\ufffd");
  return legal.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** `content` is XML; attributes are texts, and null is none. */
export function element(name: string, attributes: Record<string, string | number | null>, content = ""): string {
  const words = Object.entries(attributes).filter(([, value]) => value !== null);
  const written = words.map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`).join("");
  return content === "" ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

/** With at most so many decimals, and without zeros at its end. */
export function number(value: number, decimals: number): string {
  return String(Number(value.toFixed(decimals)));
}

/** Chinese, Japanese and emoji take two columns; marks over other letters none. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f000}-\u{3fffd}]/u;

function columnsOfLetter(letter: string): number {
  if (letter >= "\u1100" && WIDE.test(letter)) return 2;
  return letter >= "\u0300" && /\p{M}/u.test(letter) ? 0 : 1;
}

export function columnsOf(text: string): number {
  let sum = 0;
  for (const letter of text) sum += columnsOfLetter(letter);
  return sum;
}

/** At most that many columns. */
export function shortened(text: string, most: number): string {
  if (columnsOf(text) <= most) return text;
  const letters = [...text];
  let room = most - 1;
  const end = letters.findIndex((letter) => {
    room -= columnsOfLetter(letter);
    return room < 0;
  });
  return `${letters.slice(0, end).join("")}…`;
}
