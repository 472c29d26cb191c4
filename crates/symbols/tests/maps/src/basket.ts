export interface Article {
  name: string;
  price: number;
}

/** Adds prices, slowly. */
export class Basket {
  private readonly articles: Article[];

  constructor(articles: Article[]) {
    this.articles = articles;
  }

  totalPrice(rounds: number): number {
    let total = 0;
    for (let round = 0; round < rounds; round++) {
      total += this.articles.reduce((sum, article) => sum + article.price + (article.name.length & round), 0);
    }
    return total;
  }
}
