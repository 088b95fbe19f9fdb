//! The catalog of a web shop.

use std::collections::HashMap;

use serde::Deserialize;
use tracking_alloc::Profiled;

/// All products.
#[derive(Debug, Deserialize)]
pub struct Catalog {
    /// In the order of the file.
    pub products: Vec<Product>,
}

/// What is sold.
#[derive(Debug, Deserialize)]
pub struct Product {
    /// Its number.
    pub id: u64,
    /// The stock-keeping unit.
    pub sku: String,
    /// What the page says.
    pub name: String,
    /// What the page says below.
    pub description: String,
    /// In euros.
    pub price: f64,
    /// Pieces in the warehouse.
    pub stock: u32,
    /// Material, origin and the like.
    pub attributes: HashMap<String, String>,
    /// What customers say.
    pub reviews: Vec<Review>,
    /// For the search.
    pub tags: Vec<String>,
}

/// What a customer says.
#[derive(Debug, Deserialize)]
pub struct Review {
    /// Who.
    pub user: String,
    /// Of five.
    pub stars: u8,
    /// Why.
    pub text: String,
}

impl Catalog {
    /// The price of all that is in stock.
    pub fn worth(&self) -> f64 {
        let price = |product: &Product| product.price * f64::from(product.stock);
        self.products.iter().map(price).sum()
    }

    /// The stars of all reviews.
    pub fn stars(&self) -> u64 {
        let reviews = self.products.iter().flat_map(|product| &product.reviews);
        reviews.map(|review| u64::from(review.stars)).sum()
    }

    /// How many products say a word anywhere, in upper or lower case.
    pub fn saying(&self, word: &str) -> usize {
        let says = |text: &String| text.to_lowercase().contains(word);
        let says_anywhere = |product: &&Product| {
            let texts = [&product.sku, &product.name, &product.description];
            let texts = texts.into_iter().chain(product.attributes.values());
            let texts = texts.chain(product.reviews.iter().map(|review| &review.text));
            texts.chain(&product.tags).filter(|text| says(text)).count() > 0
        };
        self.products.iter().filter(says_anywhere).count()
    }
}

/// Reads a catalog.
pub fn parse(text: &str) -> serde_json::Result<Catalog> {
    serde_json::from_str(text)
}

/// Reads a catalog, and has its bytes counted by field.
pub fn parse_profiled(text: &str) -> serde_json::Result<Catalog> {
    let Profiled(catalog) = serde_json::from_str(text)?;
    Ok(catalog)
}
