// What a compiler of packages alone has to check: nothing of this runs.
interface Article {
  id: number;
  name: string;
  price: number;
}

const articles: Article[] = Array.from({ length: 600 }, (_, id) => ({ id, name: `article ${id}`, price: id % 97 }));
const byName = new Map(articles.map((article) => [article.name, article] as const));

export function listed(word: string): readonly Article[] {
  return [...byName].flatMap(([name, article]) => (name.includes(word) ? [article] : []));
}

export async function priced(words: Iterable<string>): Promise<Record<string, number>> {
  const found = await Promise.all([...words].map(async (word) => [word, listed(word)] as const));
  return Object.fromEntries(found.map(([word, list]) => [word, list.reduce((sum, { price }) => sum + price, 0)]));
}
